"""Settings of the project. The only place where the environment is read; .env.example lists every name."""

import secrets
from pathlib import Path

import environ

from mnemosyne.local.state import read_services

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

# --- the local stand-ins (mnemosyne.local) ------------------------------------------------------------------
MNEMOSYNE_STATE_DIR = Path(env.str("MNEMOSYNE_STATE_DIR", str(BASE_DIR / ".mnemosyne")))
MNEMOSYNE_CACHE_DIR = Path(env.str("MNEMOSYNE_CACHE_DIR", str(Path.home() / ".cache" / "mnemosyne")))
_services = read_services(MNEMOSYNE_STATE_DIR)
_neo4j = _services.neo4j if _services is not None else None
_models = _services.models if _services is not None else None


def _secret_key() -> str:
    """The key of the environment, or one made once and kept beside the local state."""
    given: str = env.str("SECRET_KEY", "")
    if given:
        return given
    if not DEBUG:
        raise environ.ImproperlyConfigured("SECRET_KEY must be set when DEBUG is off")
    kept = MNEMOSYNE_STATE_DIR / "secret_key"
    if not kept.exists():
        MNEMOSYNE_STATE_DIR.mkdir(parents=True, exist_ok=True)
        kept.touch(mode=0o600)
        kept.write_text(secrets.token_urlsafe(50))
    return kept.read_text()


# --- Django -------------------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", True)
SECRET_KEY = _secret_key()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
if not DEBUG:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("COOKIES_SECURE", True)
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "library",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "mnemosyne.urls"
WSGI_APPLICATION = "mnemosyne.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DATABASES = {"default": env.db_url("DATABASE_URL", f"sqlite:///{MNEMOSYNE_STATE_DIR / 'db.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Readers beside one writer, and writers that queue instead of failing half-way.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
CACHES = {"default": env.cache_url("CACHE_URL", default="locmemcache://mnemosyne")}
if CACHES["default"]["BACKEND"].endswith("LocMemCache"):
    # An answer takes some 50 KB: at most 50 MB a process.
    CACHES["default"]["OPTIONS"] = {"MAX_ENTRIES": 1000}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "library:search"
LOGOUT_REDIRECT_URL = "login"
LANGUAGE_CODE = "en"
TIME_ZONE = env.str("TIME_ZONE", "UTC")
USE_TZ = True
STATIC_URL = "static/"
# Static files are served from where the apps keep them; a folder to collect them in is for another web server.
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = env.str("STATIC_ROOT", "") or None
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", str(MNEMOSYNE_STATE_DIR / "media")))
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024
if env.str("AWS_STORAGE_BUCKET_NAME", ""):
    STORAGES = {
        "default": {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {"bucket_name": env.str("AWS_STORAGE_BUCKET_NAME"), "querystring_auth": True},
        },
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", "WARNING")},
}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework_simplejwt.authentication.JWTAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "EXCEPTION_HANDLER": "library.api.exception_handler.exception_handler",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
}

# --- who may ask --------------------------------------------------------------------------------------------
LIBRARY_DEFAULT_VISIBILITY = env.str("LIBRARY_DEFAULT_VISIBILITY", "everyone")
LIBRARY_PUBLIC_ACCESS = env.bool("LIBRARY_PUBLIC_ACCESS", False)
API_THROTTLE_USER = env.str("API_THROTTLE_USER", "100/s")
API_THROTTLE_ANONYMOUS = env.str("API_THROTTLE_ANONYMOUS", "60/min")
API_NUM_PROXIES = env.int("API_NUM_PROXIES", 0)
REST_FRAMEWORK["NUM_PROXIES"] = API_NUM_PROXIES

# --- Neo4j --------------------------------------------------------------------------------------------------
NEO4J_URL_NAMED = env.str("NEO4J_URL", "") or None
NEO4J_URL = NEO4J_URL_NAMED or (_neo4j.url if _neo4j is not None else "bolt://127.0.0.1:7687")
_use_local_neo4j = NEO4J_URL_NAMED is None and _neo4j is not None
NEO4J_USER = env.str("NEO4J_USER", _neo4j.user if _neo4j is not None and _use_local_neo4j else "neo4j")
NEO4J_PASSWORD = env.str("NEO4J_PASSWORD", _neo4j.password if _neo4j is not None and _use_local_neo4j else "")
NEO4J_DATABASE = env.str("NEO4J_DATABASE", "neo4j")
NEO4J_POOL_SIZE = env.int("NEO4J_POOL_SIZE", 50)
NEO4J_CONNECTION_TIMEOUT = env.float("NEO4J_CONNECTION_TIMEOUT", 5.0)

# --- search -------------------------------------------------------------------------------------------------
SEARCH_VECTOR_TOP_K = env.int("SEARCH_VECTOR_TOP_K", 50)
SEARCH_FULLTEXT_TOP_K = env.int("SEARCH_FULLTEXT_TOP_K", 30)
SEARCH_GRAPH_MAX_DEPTH = env.int("SEARCH_GRAPH_MAX_DEPTH", 2)
SEARCH_GRAPH_SEED_HITS = env.int("SEARCH_GRAPH_SEED_HITS", 2)
SEARCH_RRF_K = env.int("SEARCH_RRF_K", 60)
SEARCH_DEFAULT_LIMIT = env.int("SEARCH_DEFAULT_LIMIT", 20)
SEARCH_LEG_TIMEOUT = env.float("SEARCH_LEG_TIMEOUT", 5.0)
SEARCH_FUSION = env.str("SEARCH_FUSION", "linear")
SEARCH_WEIGHT_VECTOR = env.float("SEARCH_WEIGHT_VECTOR", 0.6)
SEARCH_WEIGHT_FULLTEXT = env.float("SEARCH_WEIGHT_FULLTEXT", 0.4)
SEARCH_WEIGHT_GRAPH = env.float("SEARCH_WEIGHT_GRAPH", 0.2)
SEARCH_MAX_IMAGE_MB = env.int("SEARCH_MAX_IMAGE_MB", 10)
SEARCH_CACHE_TTL = env.int("SEARCH_CACHE_TTL", 3600)
SEARCH_MAX_QUERY_TERMS = env.int("SEARCH_MAX_QUERY_TERMS", 64)
SEARCH_ANALYZER = env.str("SEARCH_ANALYZER", "english")
SEARCH_VECTOR_QUANTIZATION = env.str("SEARCH_VECTOR_QUANTIZATION", "NONE")

# --- model services -----------------------------------------------------------------------------------------
RERANKER_MAX_CANDIDATES = env.int("RERANKER_MAX_CANDIDATES", 32)
RERANKER_TIMEOUT = env.float("RERANKER_TIMEOUT", 30.0)
RERANKER_TEXT = env.str("RERANKER_TEXT", "full")
EMBEDDING_TIMEOUT = env.float("EMBEDDING_TIMEOUT", 120.0)
EMBEDDING_BATCH_SIZE = env.int("EMBEDDING_BATCH_SIZE", 32)
MODEL_SERVER_URL_NAMED = env.str("EMBEDDING_URL", "") or None
# Similarities mean something else with every model: the floor is measured for the local one, and another has none
# until its operator measures it (docs/relevance.md).
_measured_floor = 0.84 if MODEL_SERVER_URL_NAMED is None else 0.0
SEARCH_RELEVANCE_FLOOR = env.float("SEARCH_RELEVANCE_FLOOR", _measured_floor)
LIBRARY_SYSTEM_MODELS = {}
if MODEL_SERVER_URL_NAMED is not None:
    LIBRARY_SYSTEM_MODELS["embedding"] = {
        "base_url": MODEL_SERVER_URL_NAMED,
        "api_key": env.str("EMBEDDING_API_KEY", ""),
        "model": env.str("EMBEDDING_MODEL", ""),
        "dimensions": env.int("EMBEDDING_DIMENSIONS", 0),
        "max_tokens": env.int("EMBEDDING_MAX_TOKENS", 512),
        "tokenizer_path": env.str("EMBEDDING_TOKENIZER", ""),
        "supports_images": env.bool("EMBEDDING_IMAGES", False),
    }
elif _models is not None:
    LIBRARY_SYSTEM_MODELS["embedding"] = {
        "base_url": _models.url,
        "api_key": _models.key,
        "model": _models.embedding_model,
        "dimensions": _models.dimensions,
        "max_tokens": _models.max_tokens,
        "tokenizer_path": _models.tokenizer_path,
    }
if env.str("RERANKER_URL", ""):
    LIBRARY_SYSTEM_MODELS["reranker"] = {
        "base_url": env.str("RERANKER_URL"),
        "api_key": env.str("RERANKER_API_KEY", ""),
        "model": env.str("RERANKER_MODEL", ""),
        "api_type": env.str("RERANKER_API_TYPE", "synesis"),
        "supports_images": env.bool("RERANKER_IMAGES", False),
    }
elif _models is not None and MODEL_SERVER_URL_NAMED is None:
    LIBRARY_SYSTEM_MODELS["reranker"] = {
        "base_url": _models.url,
        "api_key": _models.key,
        "model": _models.reranker_model,
        "api_type": "synesis",
    }

LLM_TIMEOUT = env.float("LLM_TIMEOUT", 60.0)
if env.str("LLM_URL", ""):
    LIBRARY_SYSTEM_MODELS["chat"] = {
        "base_url": env.str("LLM_URL"),
        "api_key": env.str("LLM_API_KEY", ""),
        "model": env.str("LLM_MODEL", ""),
    }

# --- ingest and operation -----------------------------------------------------------------------------------
INGEST_MAX_FILE_MB = env.int("INGEST_MAX_FILE_MB", 200)
INGEST_MAX_IMAGE_MEGAPIXELS = env.int("INGEST_MAX_IMAGE_MEGAPIXELS", 100)
INGEST_CONCEPTS = env.str("INGEST_CONCEPTS", "builtin")
INGEST_OCR = env.str("INGEST_OCR", "auto")
INGEST_OCR_LANGUAGES = env.str("INGEST_OCR_LANGUAGES", "eng")
INGEST_BATCH_ITEMS = env.int("INGEST_BATCH_ITEMS", 64)
INGEST_WORKERS = env.int("INGEST_WORKERS", 2)
METRICS_TOKEN = env.str("METRICS_TOKEN", "")
