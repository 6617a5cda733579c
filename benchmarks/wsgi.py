"""The project under gunicorn, with the vectors of the questions given beforehand."""

from django.conf import settings

from mnemosyne.wsgi import application

from benchmarks.given import give_from  # isort: skip - its models need the application above

__all__ = ["application"]

give_from(settings.MNEMOSYNE_STATE_DIR)
