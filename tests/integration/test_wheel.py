"""The wheel, installed into an empty Django project, serves the page and the API without a file of this checkout."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from mnemosyne.local.state import Services

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = """
import os
import re

SECRET_KEY = "an empty project"
ALLOWED_HOSTS = ["testserver"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "library",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ]
        },
    }
]
ROOT_URLCONF = "urls"
STATIC_URL = "static/"
MEDIA_ROOT = "media"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGIN_URL = "login"
USE_TZ = True
NEO4J_URL = os.environ["TEST_NEO4J_URL"]
NEO4J_USER = os.environ["TEST_NEO4J_USER"]
NEO4J_PASSWORD = os.environ["TEST_NEO4J_PASSWORD"]
LIBRARY_SYSTEM_MODELS = {
    "embedding": {
        "base_url": os.environ["TEST_MODELS_URL"],
        "api_key": os.environ["TEST_MODELS_KEY"],
        "model": os.environ["TEST_EMBEDDING_MODEL"],
        "dimensions": int(os.environ["TEST_DIMENSIONS"]),
    }
}
"""
URLS = """
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

urlpatterns = [
    path("login/", LoginView.as_view(template_name="library/login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("library/", include("library.urls")),
    path("api/v1/library/", include("library.api.urls")),
]
"""
PROBE = """
import ast
import json

import django

django.setup()
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from rest_framework.authtoken.models import Token

import library

for command in (["migrate", "-v0"], ["check"], ["setup_models"], ["setup_neo4j_indexes"]):
    call_command(*command, stdout=open("log.txt", "a"))
call_command("ingest", "heron.md", "--library", "Birds", "--type", "nonfiction", stdout=open("log.txt", "a"))

client, page, api = Client(), "/library/search/", "/api/v1/library/search/"
body = {"data": json.dumps({"query": "heron"}), "content_type": "application/json"}
found = {
    "library": library.__file__,
    "page_anonymous": client.get(page).status_code,
    "login": client.get("/login/").status_code,
    "api_anonymous": client.post(api, **body).status_code,
    "style": finders.find("library/library.css"),
}
user = User.objects.create_user("reader")
client.force_login(user)
answer = client.get(page, {"query": "heron"})
found |= {"page": answer.status_code, "html": answer.content.decode()}
answer = Client(headers={"Authorization": f"Token {Token.objects.create(user=user).key}"}).post(api, **body)
found |= {"api": answer.status_code, "hits": [hit["item_title"] for hit in answer.json()["candidates"]]}
with open("found.json", "w") as file:
    json.dump(found, file)
"""


def run(*command: str, cwd: Path, **environment: str) -> None:
    """Run a command, without anything that would lead Python to this checkout."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DJANGO"))}
    done = subprocess.run(
        command, cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources."""
    source = tmp_path_factory.mktemp("source")
    for name in ("library", "mnemosyne"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", ".", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtual environment with the wheel; its dependencies come from the running one."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", ".", cwd=folder)
    interpreter = folder / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(interpreter),
        "install",
        "--no-deps",
        "--no-index",
        str(wheel),
        cwd=folder,
    )
    (site_packages,) = folder.glob("lib/python*/site-packages")
    # A path file adds the folder, but does not read the path files in it: the checkout stays out of sight.
    (site_packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return interpreter


@pytest.mark.neo4j
@pytest.mark.models
@pytest.mark.slow
def test_an_empty_project_serves_page_and_api_from_the_wheel(
    python: Path, empty_neo4j: None, stack: Services, tmp_path: Path
) -> None:
    assert stack.neo4j is not None
    assert stack.models is not None
    for name, text in {"settings.py": SETTINGS, "urls.py": URLS, "probe.py": PROBE}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "heron.md").write_text("# The grey heron\n\nA heron stands at the weir all winter.\n", encoding="utf-8")
    run(
        str(python),
        "probe.py",
        cwd=tmp_path,
        DJANGO_SETTINGS_MODULE="settings",
        TEST_NEO4J_URL=stack.neo4j.url,
        TEST_NEO4J_USER=stack.neo4j.user,
        TEST_NEO4J_PASSWORD=stack.neo4j.password,
        TEST_MODELS_URL=stack.models.url,
        TEST_MODELS_KEY=stack.models.key,
        TEST_EMBEDDING_MODEL=stack.models.embedding_model,
        TEST_DIMENSIONS=str(stack.models.dimensions),
    )
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    installed = str(python.parent.parent)
    assert found["library"].startswith(installed)
    assert found["style"].startswith(installed)
    assert (found["page_anonymous"], found["login"], found["api_anonymous"]) == (302, 200, 401)
    assert (found["page"], found["api"]) == (200, 200)
    assert "The grey heron" in found["html"]
    assert found["hits"] == ["The grey heron"]


def test_the_wheel_carries_templates_styles_and_the_sample(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"library/py.typed", "library/sample/manifest.json", "mnemosyne/local/artifacts.lock.json"}
    for folder in ("templates", "static", "sample", "migrations"):
        wanted |= {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "library" / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
    assert wanted <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    always = _names(project["dependencies"])
    # Comparing configurations and reading pictures ask for more, and say so where it is missing.
    more = {"library/evaluation/significance.py", "library/ingest/ocr.py"}
    assert set(_undeclared("library", always).values()) <= more
    assert _undeclared("library", always | _names(extras["eval"]) | _names(extras["ocr"])) == {}
    # What fastapi brings is its own interface: pydantic models, starlette's middleware.
    assert _undeclared("mnemosyne", always | _names(extras["local"]) | {"pydantic", "starlette"}) == {}
    assert _undeclared("tests", always | _names(extras["local"]) | _names(extras["dev"])) == {}


def _names(requirements: list[str]) -> set[str]:
    return {_normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in requirements}


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _undeclared(folder: str, declared: set[str]) -> dict[str, str]:
    """Imported package -> a file that imports it, for what no declared distribution provides."""
    providers = packages_distributions()
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for name in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            own = name in sys.stdlib_module_names or name in {"library", "mnemosyne", "tests", "benchmarks"}
            if not own and not {_normal(provider) for provider in providers.get(name, ())} & declared:
                found[name] = path.relative_to(ROOT).as_posix()
    return found


def _imported(tree: ast.Module) -> set[str]:
    """The top-level packages that a file imports."""
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {module.split(".")[0] for module in modules}
