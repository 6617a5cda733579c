"""Documents with pictures inside, made for tests."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image


def picture(colour: str, size: tuple[int, int] = (64, 48), kind: str = "PNG") -> bytes:
    """A picture of one colour."""
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, kind)
    return written.getvalue()


def pdf(pages: Sequence[tuple[str, bytes]]) -> bytes:
    """A PDF whose pages each have a text and, above it, a picture (JPEG bytes; b"" for none)."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects.append(font)
    for text, image in pages:
        lines = b"".join(b"(%s) Tj 0 -14 Td " % line.encode("latin-1") for line in text.splitlines())
        drawn = b"q 100 0 0 75 50 650 cm /Im1 Do Q " if image else b""
        content = drawn + b"BT /F1 12 Tf 50 600 Td " + lines + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        contents = len(objects)
        resources = b"/Font << /F1 3 0 R >>"
        if image:
            objects.append(_image_object(image))
            resources += b" /XObject << /Im1 %d 0 R >>" % len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << %s >> >>"
            % (contents, resources)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return _pdf_file(objects)


def _image_object(data: bytes) -> bytes:
    width, height = Image.open(io.BytesIO(data)).size
    return (
        b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8 "
        b"/Filter /DCTDecode /Length %d >>\nstream\n%s\nendstream" % (width, height, len(data), data)
    )


def _pdf_file(objects: Sequence[bytes]) -> bytes:
    written = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    written += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    written += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(written)


def epub(path: Path, chapter: str, images: dict[str, bytes]) -> Path:
    """A book of one chapter, a body of XHTML, with files beside it."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="b.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:title>A book</dc:title></metadata><manifest><item id="c" href="c.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("b.opf", package)
        archive.writestr("c.xhtml", f"<html><body>{chapter}</body></html>")
        for name, data in images.items():
            archive.writestr(name, data)
    return path


def docx(path: Path, text: str, description: str, image: bytes) -> Path:
    """A Word document of a paragraph and a described picture."""
    namespaces = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
        'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
    )
    drawing = (
        f'<w:drawing><wp:inline><wp:docPr id="1" name="p" descr="{description}"/><a:graphic><a:graphicData><pic:pic>'
        '<pic:blipFill><a:blip r:embed="rId1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing>"
    )
    body = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p><w:p><w:r>{drawing}</w:r></w:p>"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="png" ContentType="image/png"/><Default Extension="xml" ContentType="application/xml"/>'
            "</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="r" Type="{office}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="{relations}"><Relationship Id="rId1" Type="{office}/image" '
            'Target="media/a.png"/></Relationships>',
        )
        archive.writestr("word/document.xml", f"<w:document {namespaces}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/media/a.png", image)
    return path
