"""Pictures: inside documents, by caption, by another picture, by colour; thumbnails; what is refused."""

import base64
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import responses
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from PIL import Image, ImageDraw, ImageFont
from requests import PreparedRequest

from library.evaluation.trec import read_dataset
from library.exceptions import NotConfigured
from library.graph import session
from library.ingest.run import IngestRequest, ingest
from library.models import AIModel, ModelAPI
from library.services.requests import build_request
from library.services.search import SearchService
from tests.api_client import SEARCH, post, token_client
from tests.builder import settle
from tests.documents import pdf, picture
from tests.fakes import EMBEDDINGS_URL, record_models
from tests.shared import case_file, shared_path

pytestmark = [pytest.mark.neo4j]

CASE_30 = {
    "30_upright.jpg": True,
    "30_exif6.jpg": True,
    "30_cmyk.jpg": True,
    "30_palette_alpha.png": True,
    "30_grey_alpha.png": True,
    "30_sixteen_bit.png": True,
    "30_one_pixel.png": True,
    "30_animated.gif": True,
    "30_truncated.jpg": False,
    "30_html_named.jpg": False,
    "30_huge_196mp.png": False,
}


def take_in(*paths: Path, **given: Any) -> Any:
    return ingest(IngestRequest(paths, **{"library": "Art", "library_type": "art", **given}))


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


# --- with the real model server ------------------------------------------------------------------------------------


@pytest.mark.models
def test_a_pdf_with_two_pictures_gives_two_that_are_found_with_their_pages(
    graph: None, system_models: None, tmp_path: Path
) -> None:
    path = tmp_path / "catalogue.pdf"
    lamp, harbour = picture("red", kind="JPEG"), picture("blue", kind="JPEG")
    texts = ["The oil lamp of the keeper.\nFigure 1: A brass oil lamp", "", "Fishing boats lie in the harbour at dawn."]
    path.write_bytes(pdf([(texts[0], lamp), (texts[1], b""), (texts[2], harbour)]))
    report = take_in(path)
    assert (report.failed, report.images) == ([], 2)
    settle()
    for query, page, described in (("a brass lamp", 1, "Figure 1: A brass oil lamp"), ("boats in a harbour", 3, "")):
        first = SearchService().search(build_request(query)).images[0]
        assert (first.page, first.description) == (page, described)
    again = take_in(path)
    assert again.count("unchanged") == 1


@pytest.mark.models
@pytest.mark.slow
def test_photos_are_found_by_captions_of_others(graph: None, system_models: None) -> None:
    """Five people described each photo; one description is taken in, and the others are asked."""
    folder = shared_path("data", "photos")
    report = take_in(folder, library="Photos")
    assert report.failed == []
    settle()
    dataset = read_dataset(folder)
    source = {
        row["uid"]: row["source"] for row in session.read("MATCH (i:Item) RETURN i.uid AS uid, i.source AS source", {})
    }
    service = SearchService()
    right = by_vector = 0
    for query in dataset.queries:
        images = service.search(build_request(query.text, rerank=False)).images
        right += source[images[0].item_uid] in dataset.qrels[query.uid]
        by_vector += images[0].source == "vector"
    share = right / len(dataset.queries)
    print(f"{share:.3f} of {len(dataset.queries)} captions find their photo first")
    assert share >= 0.75
    assert by_vector == len(dataset.queries)


@pytest.mark.models
@pytest.mark.slow
def test_case_30_every_kind_is_taken_in_and_searched_by_and_the_bad_are_refused(
    graph: None, system_models: None
) -> None:
    report = take_in(*(case_file(name) for name in CASE_30))
    assert {outcome.name for outcome in report.failed} == {name for name, good in CASE_30.items() if not good}
    assert all(outcome.reason for outcome in report.failed)
    assert report.images == sum(CASE_30.values())
    settle()
    api = token_client()
    for name, good in CASE_30.items():
        data = case_file(name).read_bytes()
        in_json = post(api, {"query_image": coded(data)})
        as_file = api.post(SEARCH, {"query_image": SimpleUploadedFile(name, data)})
        assert [in_json.status_code, as_file.status_code] == ([200, 200] if good else [400, 400]), name
        if not good:
            assert list(in_json.json()["error"]["fields"]) == ["query_image"], name
        elif name != "30_one_pixel.png":
            titles = {image["item_title"] for image in as_file.json()["images"][:3]}
            assert name.split(".")[0].replace("_", " ") in titles, name
    turned = post(api, {"query_image": coded(case_file("30_exif6.jpg").read_bytes())}).json()["images"]
    looks = session.read("MATCH (i:Item)-[:HAS_IMAGE]->(m) RETURN i.title AS title, m.look AS look", {})
    by_title = {row["title"]: row["look"] for row in looks}
    assert cosine(by_title["30 exif6"], by_title["30 upright"]) > 0.99
    assert {image["item_title"] for image in turned[:2]} <= {"30 exif6", "30 upright", "30 cmyk"}


def cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5)


@pytest.mark.models
def test_a_model_without_pictures_says_so_and_the_same_picture_is_found_by_its_look(
    graph: None, system_models: None, tmp_path: Path
) -> None:
    for name, colours in {"sunset": ("red", "blue"), "meadow": ("green", "yellow"), "night": ("black", "navy")}.items():
        image = Image.new("RGB", (200, 100), colours[0])
        image.paste(colours[1], (100, 0, 200, 100))
        image.save(tmp_path / f"{name}.png")
    take_in(tmp_path)
    settle()
    small = io.BytesIO()
    Image.open(tmp_path / "sunset.png").resize((50, 25)).save(small, "JPEG")
    found = post(token_client(), {"query_image": coded(small.getvalue())}).json()
    assert [image["item_title"] for image in found["images"]] == ["sunset"]
    assert "takes no pictures" in found["legs"]["vector"]["reason"]
    assert any("look alike" in warning for warning in found["warnings"])
    assert found["no_good_match"] is False


def written_picture(text: str) -> Image.Image:
    """Black words on white."""
    image = Image.new("RGB", (900, 160), "white")
    ImageDraw.Draw(image).text((30, 40), text, fill="black", font=ImageFont.load_default(size=60))
    return image


@pytest.fixture
def tesseract(settings: Any) -> None:
    """The real program, where it is installed."""
    if shutil.which("tesseract") is None:
        pytest.skip("tesseract is not installed")
    settings.INGEST_OCR = "on"


@pytest.mark.models
def test_text_in_pictures_is_read_and_searched(
    graph: None, system_models: None, tesseract: None, tmp_path: Path
) -> None:
    written_picture("Harbour dues, 1887").save(tmp_path / "sign.png")
    scan = io.BytesIO()
    written_picture("Tide tables of Skerrow").save(scan, "JPEG")
    (tmp_path / "scan.pdf").write_bytes(pdf([("", scan.getvalue())]))
    (tmp_path / "red.png").write_bytes(picture("red"))
    report = take_in(tmp_path)
    assert report.failed == []
    settle()
    for query, title, words in (("harbour dues", "sign", "Harbour dues"), ("tide tables", "scan", "Tide tables")):
        first = post(token_client(query), {"query": query, "rerank": False}).json()["images"][0]
        assert (first["item_title"], words in first["ocr_text"]) == (title, True)


def test_tesseract_that_is_asked_for_and_missing_is_told(
    graph: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_models()
    monkeypatch.setenv("PATH", str(tmp_path))
    settings.INGEST_OCR = "on"
    with pytest.raises(NotConfigured, match="tesseract-ocr"):
        take_in(tmp_path)
    settings.INGEST_OCR = "auto"
    assert take_in(tmp_path).failed == []


# --- with a model that sees colours ----------------------------------------------------------------------------------


def colour_vector(given: Any) -> list[float]:
    """A model that knows three colours, in words and in pictures."""
    if isinstance(given, dict):
        pixel = Image.open(io.BytesIO(base64.b64decode(given["image"]))).convert("RGB").resize((1, 1)).tobytes()
        numbers = [value / 255 for value in pixel]
    else:
        numbers = [float(word in given.lower()) for word in ("red", "green", "blue")]
    return [*numbers, 0.05] + [0.0] * 380


@pytest.fixture
def colour_model(graph: None) -> Iterator[list[Any]]:
    """Records of the model, and what it is sent."""
    api = ModelAPI.objects.create(name="colours", api_type="synesis", base_url="http://models.test")
    AIModel.objects.create(
        api=api, name="colours", role="embedding", is_system=True, dimensions=384, supports_images=True
    )
    sent: list[Any] = []

    def answer(request: PreparedRequest) -> tuple[int, dict[str, str], str]:
        inputs = json.loads(request.body or "")["input"]
        sent.extend(inputs)
        data = [{"index": n, "embedding": colour_vector(given)} for n, given in enumerate(inputs)]
        return 200, {}, json.dumps({"data": data})

    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.add_callback("POST", EMBEDDINGS_URL, answer)
        yield sent


def test_true_vectors_of_pictures_at_ingest_and_as_a_query(colour_model: list[Any], tmp_path: Path) -> None:
    for name, colour in {"one": "red", "two": "green", "three": "blue"}.items():
        (tmp_path / f"{name}.png").write_bytes(picture(colour))
    report = take_in(tmp_path)
    assert (report.failed, report.warnings) == ([], [])
    assert sum(isinstance(given, dict) for given in colour_model) == 3
    settle()
    for query, expected in (("something red", "one"), ("green things", "two"), ("the blue one", "three")):
        assert SearchService().search(build_request(query)).images[0].item_title == expected
    dark = picture("darkred", (500, 20), "JPEG")
    by_picture = post(token_client(), {"query_image": coded(dark)}).json()
    assert by_picture["images"][0]["item_title"] == "one"
    assert (by_picture["degraded"], by_picture["legs"]["vector"]["status"]) == (False, "empty")
    both = SearchService().search(build_request("a green thing", query_image=dark))
    assert both.images[0].item_title == "one"


# --- ways in -------------------------------------------------------------------------------------------------------


@pytest.fixture
def lamp(colour_model: list[Any], tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "lamp.png").write_bytes(picture("red", (900, 600)))
    (folder / "lamp.png.txt").write_text("A red lamp")
    take_in(folder)
    settle()
    return folder / "lamp.png"


def test_api_page_and_command_search_by_a_picture(lamp: Path) -> None:
    client = token_client()
    data = lamp.read_bytes()
    for field in ("query_image", "image"):
        answer = client.post(SEARCH, {field: SimpleUploadedFile("a.png", data), "query": "", "rerank": "false"})
        assert answer.json()["images"][0]["item_title"] == "lamp", field
    assert post(client, {"query_image": f"data:image/png;base64,{coded(data)}"}).status_code == 200
    page = Client(enforce_csrf_checks=True)
    page.force_login(User.objects.create_user("visitor"))
    form = page.get("/library/search/").content.decode()
    token = form.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    posted = page.post(
        "/library/search/picture/",
        {"query_image": SimpleUploadedFile("a.png", data), "query": "", "csrfmiddlewaretoken": token},
    )
    assert posted.status_code == 200
    assert "/thumbnail/" in posted.content.decode()
    assert page.post("/library/search/picture/", {"query": "lamp"}).status_code == 403
    assert page.get("/library/search/picture/").status_code == 302
    output = io.StringIO()
    call_command("search", "--image", str(lamp), "--json", stdout=output)
    (found,) = json.loads(output.getvalue())["images"]
    assert (found["item_title"], found["description"]) == ("lamp", "A red lamp")
    assert found["thumbnail_url"].endswith("/thumbnail/")


@pytest.mark.parametrize("pictures", [True, False])
def test_a_picture_goes_with_every_strategy_and_parameter(lamp: Path, pictures: bool) -> None:
    AIModel.objects.update(supports_images=pictures)
    client = token_client()
    picture_given = coded(lamp.read_bytes())
    ways: list[dict[str, Any]] = [{"strategy": name} for name in ("auto", "hybrid", "lexical", "lexical_first")]
    ways += [{"group_by": "item", "facets": True, "expand": 1}, {"search_types": ["graph"]}, {"offset": 5}]
    for way in ways:
        for query in ("", "a red lamp", '"red lamp" -sea', "title:lamp"):
            answer = post(client, {"query": query, "query_image": picture_given, **way})
            assert answer.status_code == 200, (way, query, answer.content)
            assert [image["item_title"] for image in answer.json()["images"]] == ["lamp"], (way, query)
    only_vectors = post(client, {"query_image": picture_given}, SEARCH + "vector/")
    assert only_vectors.status_code == (200 if pictures else 503)
    if not pictures:
        assert "takes no pictures" in only_vectors.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"query_image": "no base64 !"}, "must be a picture in base64"),
        ({"query_image": coded(b"<html>")}, "it is no PNG, JPEG or GIF picture"),
        ({"query_image": ""}, "must not be empty"),
        ({"query_image": 7}, "must be a picture in base64"),
        ({"query_image": coded(bytes(1_200_000))}, "must be at most 1 MB"),
    ],
)
def test_a_bad_picture_is_400_and_named(db: None, settings: Any, body: dict[str, Any], told: str) -> None:
    settings.SEARCH_MAX_IMAGE_MB = 1
    answer = post(token_client(), body)
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == ["query_image"]
    assert told in answer.json()["error"]["message"]


def test_nothing_at_all_is_400(db: None) -> None:
    assert post(token_client(), {}).json()["error"]["fields"] == {"query": ["must not be empty"]}
    with pytest.raises(CommandError, match="query"):
        call_command("search")
    with pytest.raises(CommandError, match=r"none\.png"):
        call_command("search", "--image", "none.png")


def test_a_thumbnail_is_small_and_kept_and_goes_with_its_picture(lamp: Path) -> None:
    client = token_client()
    (found,) = post(client, {"query": "red lamp"}).json()["images"]
    address = found["thumbnail_url"]
    assert address == f"/api/v1/library/images/{found['image_uid']}/thumbnail/"
    answer = client.get(address)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/jpeg")
    assert Image.open(io.BytesIO(answer.content)).size == (320, 213)
    assert "private" in answer.headers["Cache-Control"]
    assert client.get(address, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    whole = client.get(address.removesuffix("thumbnail/"))
    assert whole.content == lamp.read_bytes()
    kept = f"{found['s3_key']}.small.jpg"
    assert default_storage.exists(kept)
    assert client.get(address).content == answer.content
    lamp.write_bytes(picture("green", (40, 40)))
    take_in(lamp.parent)
    assert not default_storage.exists(kept)
    assert Client().get(address).status_code == 401
    assert client.get("/api/v1/library/images/unknown/thumbnail/").status_code == 404
