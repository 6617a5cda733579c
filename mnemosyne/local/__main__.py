"""Entry point: the only place of this package that looks at the project's settings."""

import os
import sys

from mnemosyne.local.cli import Options, main


def options_from_settings() -> Options:
    """The defaults of the command line, as the project's settings say."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mnemosyne.settings")
    from django.conf import settings

    return Options(
        state_dir=settings.MNEMOSYNE_STATE_DIR,
        cache_dir=settings.MNEMOSYNE_CACHE_DIR,
        neo4j_url=settings.NEO4J_URL_NAMED,
        neo4j_user=settings.NEO4J_USER,
        neo4j_password=settings.NEO4J_PASSWORD,
        model_server_url=settings.MODEL_SERVER_URL_NAMED,
    )


if __name__ == "__main__":
    sys.exit(main(None, options_from_settings()))
