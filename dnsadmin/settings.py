"""Django settings, one file in sections. Values of a deployment come from dnsadmin.env."""

from datetime import timedelta
from typing import Any

import structlog
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.templatetags.static import static
from django.urls import reverse_lazy

from dnsadmin.env import (
    STATE_DIR,
    TEMPLATES_DIR,
    env,
    fetch_database,
    fetch_encryption_keys,
    fetch_log_format,
    fetch_log_level,
    fetch_networks,
    fetch_operations_port,
    fetch_optional_secret,
    fetch_redis_tls,
    fetch_redis_url,
    fetch_secret,
)

# --- Core -----------------------------------------------------------------------------------------

DEBUG = env.bool("DNSADMIN_DEBUG", default=False)
SECRET_KEY = fetch_secret("DNSADMIN_SECRET_KEY")
ALLOWED_HOSTS = env.list("DNSADMIN_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("DNSADMIN_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "dnsadmin.apps.LateAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    "django_structlog",
    "registry_app",
    "dnsadmin.apps.DnsadminConfig",
]

MIDDLEWARE = [
    "dnsadmin.trusted_proxies.TrustedProxies",
    # First of all others: whatever is answered has its id.
    "django_structlog.middlewares.RequestMiddleware",
    "dnsadmin.request_log.RequestLog",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "registry_app.admin.accounts.LoginLimit",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "dnsadmin.urls"
WSGI_APPLICATION = "dnsadmin.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [TEMPLATES_DIR],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"dnsadmin": "registry_app.admin.wording"},
        },
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# A form that posts a selection of record sets carries one field for each of them.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 12_000

# --- Database -------------------------------------------------------------------------------------

DATABASES = {"default": fetch_database("DATABASE_URL")}
# To open a connection for each request took a third of a short one.
_KEPT_SECONDS = 60
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["CONN_MAX_AGE"] = _KEPT_SECONDS
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        # DEFERRED, the default, answers "database is locked" at once when a reader turns writer.
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # The guard answers each request in threads of its own, which would each connect anew. A pool that gives
    # no connection in time is a database that is away: ExternalDNS waits for 5 seconds.
    most_connections = env.int("DNSADMIN_GUARD_CONNECTIONS", default=0)
    if most_connections > 0:
        pool = {"min_size": 1, "max_size": most_connections, "timeout": 2, "reconnect_timeout": 2}
        DATABASES["default"]["OPTIONS"] = {**DATABASES["default"].get("OPTIONS", {}), "pool": pool}
    else:  # a pool keeps them itself, and Django refuses both
        DATABASES["default"]["CONN_MAX_AGE"] = _KEPT_SECONDS

# --- Broker, cache, Celery ------------------------------------------------------------------------

REDIS_URL = fetch_redis_url("REDIS_URL")
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL.replace("redis+socket://", "unix://"),
        "KEY_PREFIX": "dnsadmin",
        "OPTIONS": fetch_redis_tls("REDIS_URL", REDIS_URL),
    }
}

CELERY_BROKER_USE_SSL = fetch_redis_tls("REDIS_URL", REDIS_URL) or None
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 1800
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,  # longer than the longest task, or the broker delivers it twice
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# --- Web ------------------------------------------------------------------------------------------

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")  # for who opened the login page itself
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "registry_app.admin.error_pages.show_locked_out"

# Served over HTTPS unless a deployment (or `make run`, on loopback) says otherwise.
HTTPS = env.bool("DNSADMIN_HTTPS", default=True)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "registry_app.admin.error_pages.show_expired_form"
SESSION_COOKIE_AGE = 12 * 3600
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if env.bool("DNSADMIN_BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # Alpine, which the admin theme is built on, evaluates its attributes.
        "script-src": [SELF, UNSAFE_EVAL],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "registry_app.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_VERSIONING_CLASS": None,
    "EXCEPTION_HANDLER": "registry_app.api.problem.build_problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "dnsadmin",
    "DESCRIPTION": "DNS ownership across Kubernetes clusters: which records exist, who owns them, and "
    "transfers.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVERS": [{"url": "/", "description": "The address at which dnsadmin is served."}],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PATH_CONVERTER_OVERRIDES": {
        "transfer": {"type": "string", "description": "The id, or the number that people see (`12`)."},
        "provider": {"type": "string", "description": "The id, or the name."},
        "owner": {"type": "string", "description": "The number in `id`, or the owner id."},
    },
    # Several nouns have a kind, a state or a status; without these their names in the schema are hashes.
    "ENUM_NAME_OVERRIDES": {
        "ApprovalPolicyEnum": "registry_app.models.provider.Provider.ApprovalPolicy",
        "ConsentSide": "registry_app.models.consent.Consented.Side",
        "FindingKind": "registry_app.models.finding.Finding.Kind",
        "FindingState": "registry_app.models.finding.Finding.State",
        "FreezeKind": "registry_app.models.freeze.Freeze.Kind",
        "GuardDecisionOutcome": "registry_app.models.guard_decision.GuardDecision.Outcome",
        "GuardMode": "registry_app.models.guard_endpoint.GuardEndpoint.Mode",
        "GuardRule": "registry_app.models.guard_decision.GuardRule",
        "GuardStepStatus": "registry_app.models.guard_decision.GuardStep.Status",
        "HeldDeleteStatus": "registry_app.models.guard_decision.HeldDelete.Status",
        "HandOverItemState": "registry_app.models.hand_over.HandOverItem.State",
        "HandOverStatus": "registry_app.models.hand_over.HandOver.Status",
        "HeldSnapshotStatus": "registry_app.models.held_snapshot.HeldSnapshot.Status",
        "LoopPolicy": "registry_app.models.loop.LoopPolicy",
        "LoopRunStatus": "registry_app.models.loop.LoopRun.Status",
        "LoopRunTrigger": "registry_app.models.loop.LoopRun.Trigger",
        "LoopStepStatus": "registry_app.models.loop.LoopStep.Status",
        "OwnershipState": "registry_app.models.record_set.OwnershipState",
        "OwnerStatus": "registry_app.models.owner.Owner.Status",
        "PolicyEnum": "registry_app.models.instance.InstancePolicy",
        "ProviderStatus": "registry_app.models.provider.Provider.Status",
        "RecordEventKind": "registry_app.models.record_event.RecordEvent.Kind",
        "RegistryProfileKind": "providers.stores.registry_catalogue.REGISTRY_CHOICES",
        "SyncRunStatus": "registry_app.models.sync_run.SyncRun.Status",
        "TriggerEnum": "registry_app.models.sync_run.SyncRun.Trigger",
        "TransferItemStatus": "registry_app.models.transfer.TransferItem.Status",
        "TransferKind": "registry_app.models.transfer.Transfer.Kind",
        "TransferStatus": "registry_app.models.transfer.Transfer.Status",
        "TransferStepStatus": "registry_app.models.transfer.TransferStep.Status",
    },
}

# --- dnsadmin -------------------------------------------------------------------------------------

# Beside the database, a copy of how far it had come: what shows that it was restored.
DNSADMIN_STATE_DIR = str(STATE_DIR)

# AES-256 keys for secrets at rest, base64, newest first: the first encrypts, all decrypt.
DNSADMIN_ENCRYPTION_KEYS = fetch_encryption_keys("DNSADMIN_ENCRYPTION_KEYS")
DNSADMIN_AUDIT_KEY = fetch_secret("DNSADMIN_AUDIT_KEY")
# Credentials by reference come from here alone: `env:NAME` with this prefix, `file:NAME` below the folder.
DNSADMIN_CREDENTIAL_ENV_PREFIX = "DNSADMIN_CREDENTIAL_"
DNSADMIN_CREDENTIALS_DIR = env.str("DNSADMIN_CREDENTIALS_DIR", default="")

# The addresses that providers may have. Loopback is where ExternalDNS's own sidecars listen; it is allowed by
# default only where dnsadmin is embedded on one machine.
DNSADMIN_ALLOW_LOOPBACK = env.bool("DNSADMIN_ALLOW_LOOPBACK", default=False)
DNSADMIN_ALLOWED_NETWORKS = fetch_networks("DNSADMIN_ALLOWED_NETWORKS")
DNSADMIN_ALLOWED_HOSTS_FOR_PROVIDERS = env.list("DNSADMIN_PROVIDER_HOSTS", default=[])
DNSADMIN_PROVIDER_SCHEMES = env.list("DNSADMIN_PROVIDER_SCHEMES", default=["http", "https"])

DNSADMIN_RETENTION_EVENTS = timedelta(days=env.int("DNSADMIN_RETENTION_EVENTS_DAYS", default=365))
DNSADMIN_RETENTION_RUNS = timedelta(days=env.int("DNSADMIN_RETENTION_RUNS_DAYS", default=14))
# 0: for ever. Audit entries are deleted by `dnsadmin_audit purge` alone, which exports them first.
DNSADMIN_RETENTION_AUDIT = timedelta(days=env.int("DNSADMIN_RETENTION_AUDIT_DAYS", default=0))
DNSADMIN_PURGE_TIME = timedelta(seconds=env.int("DNSADMIN_PURGE_SECONDS", default=120))
DNSADMIN_RETENTION_FINDINGS = timedelta(days=env.int("DNSADMIN_RETENTION_FINDINGS_DAYS", default=90))
DNSADMIN_PURGE_MISSING_AFTER = timedelta(hours=24)
DNSADMIN_PURGE_MISSING_SNAPSHOTS = 3

# A run of a transfer or loop gives way after this time, and goes on when others had their turn: with as many
# long ones as workers, syncs would wait for all of them.
DNSADMIN_LONGEST_RUN = timedelta(minutes=5)
DNSADMIN_LEASE = timedelta(seconds=env.int("DNSADMIN_LEASE_SECONDS", default=120))
DNSADMIN_REGISTRY_RESYNC = timedelta(seconds=env.int("DNSADMIN_REGISTRY_RESYNC_SECONDS", default=600))
# Where the claims of registry profiles in the database are written as files, by the workers; empty: nowhere.
DNSADMIN_REGISTRY_EXPORT_DIR = env.str("DNSADMIN_REGISTRY_EXPORT_DIR", default="")
DNSADMIN_REGISTRY_EXPORT_EVERY = timedelta(hours=env.int("DNSADMIN_REGISTRY_EXPORT_HOURS", default=24))
DNSADMIN_TRANSFER_EXPIRY = timedelta(days=env.int("DNSADMIN_TRANSFER_EXPIRY_DAYS", default=7))
# An account that somebody made, changed or gave a password to is theirs as well until then: it is no second
# person beside them.
DNSADMIN_ACCOUNT_SETTLES = timedelta(hours=env.int("DNSADMIN_ACCOUNT_SETTLES_HOURS", default=24))
# How long a looser approval policy waits where no second administrator can confirm it.
DNSADMIN_LOOSER_POLICY_WAITS = timedelta(hours=24)
# Reverse proxies of this deployment: the client's address is taken from their X-Forwarded-For.
DNSADMIN_TRUSTED_PROXIES = fetch_networks("DNSADMIN_TRUSTED_PROXIES")
DNSADMIN_API_REQUESTS_PER_MINUTE = env.int("DNSADMIN_API_REQUESTS_PER_MINUTE", default=6000)
# For each address (of the client, see DNSADMIN_TRUSTED_PROXIES): beyond them the answer is 429.
DNSADMIN_LOGINS_PER_MINUTE = env.int("DNSADMIN_LOGINS_PER_MINUTE", default=20)
DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE = env.int("DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE", default=60)
# kill -9 at a named point, to show that everything can be resumed. Never set in production.
DNSADMIN_CRASH_AT = env.str("DNSADMIN_CRASH_AT", default="")
DNSADMIN_CRASH_ONCE = env.str("DNSADMIN_CRASH_ONCE", default="")

# --- Operations -----------------------------------------------------------------------------------

# `/healthz` and `/readyz` are for everybody. `/metrics` beside the web admin and the guard is for who has
# this token; without one it is off there.
DNSADMIN_METRICS_TOKEN = fetch_optional_secret("DNSADMIN_METRICS_TOKEN")
# Where a worker and the scheduler answer the same. Without a port they do not.
DNSADMIN_OPERATIONS_LISTEN = env.str("DNSADMIN_OPERATIONS_LISTEN", default="127.0.0.1")
DNSADMIN_WORKER_OPERATIONS_PORT = fetch_operations_port("DNSADMIN_WORKER_OPERATIONS_PORT")
DNSADMIN_BEAT_OPERATIONS_PORT = fetch_operations_port("DNSADMIN_BEAT_OPERATIONS_PORT")

# --- Logging --------------------------------------------------------------------------------------

LOG_FORMAT = fetch_log_format("DNSADMIN_LOG_FORMAT")
_SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "structured": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                # Local variables in a traceback are where secrets would leak.
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer()
                if LOG_FORMAT == "json"
                else structlog.dev.ConsoleRenderer(colors=False),
            ],
            "foreign_pre_chain": _SHARED_PROCESSORS,
        }
    },
    "filters": {"only_tracebacks": {"()": "dnsadmin.request_log.OnlyTracebacks"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "structured"}},
    "root": {"handlers": ["console"], "level": fetch_log_level("DNSADMIN_LOG_LEVEL")},
    "loggers": {
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
        # What it would say of a request, with its query, `dnsadmin.request_log` says without; the traceback
        # of one that failed comes from Django.
        "django_structlog": {"level": "CRITICAL"},
        "django.request": {"level": "ERROR", "filters": ["only_tracebacks"]},
        "axes": {"level": "WARNING"},
        # Its warnings quote whole URLs and responses of the other side.
        "urllib3": {"level": "ERROR"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
    },
}
# The library would believe any X-Forwarded-For, and read the session of who is at a page for everybody.
# `dnsadmin.request_log` has the address and the user.
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
DJANGO_STRUCTLOG_USER_ID_FIELD = ""
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.filter_by_level,
        *_SHARED_PROCESSORS[1:],
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)

# --- Admin theme ----------------------------------------------------------------------------------


def _page(title: str, icon: str, model: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist")}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "dnsadmin",
    "SITE_HEADER": "dnsadmin",
    "SITE_SYMBOL": "dns",
    "SITE_URL": None,
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda _request: static("dnsadmin/icon.svg")}
    ],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda _request: static("dnsadmin/admin.css")],
    "DASHBOARD_CALLBACK": "registry_app.admin.dashboard.build_index",
    # The command palette searches names of screens only: rows are searched by their own filters.
    "COMMAND": {"search_models": False, "show_history": False},
    "COLORS": {
        "primary": {
            "50": "oklch(97.7% .013 236.62)",
            "100": "oklch(95.1% .026 236.824)",
            "200": "oklch(90.1% .058 230.902)",
            "300": "oklch(82.8% .111 230.318)",
            "400": "oklch(74.6% .16 232.661)",
            "500": "oklch(68.5% .169 237.323)",
            "600": "oklch(58.8% .158 241.966)",
            "700": "oklch(50% .134 242.749)",
            "800": "oklch(44.3% .11 240.79)",
            "900": "oklch(39.1% .09 240.876)",
            "950": "oklch(29.3% .066 243.157)",
        }
    },
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": [
            {
                "items": [
                    {"title": "Dashboard", "icon": "dashboard", "link": reverse_lazy("admin:index")},
                    _page("Record sets", "dns", "registry_app_recordset"),
                    _page("Findings", "warning", "registry_app_finding"),
                    _page("Transfers", "swap_horiz", "registry_app_transfer"),
                    _page("Saved filters", "bookmarks", "registry_app_savedfilter"),
                    _page("Hand-overs", "move_up", "registry_app_handover"),
                ]
            },
            {
                "title": "Who and where",
                "separator": True,
                "items": [
                    _page("Owners", "badge", "registry_app_owner"),
                    _page("Instances", "memory", "registry_app_instance"),
                    _page("Clusters", "hub", "registry_app_cluster"),
                    _page("Loops", "autorenew", "registry_app_loop"),
                    _page("Registry profiles", "sell", "registry_app_registryprofile"),
                ],
            },
            {
                "title": "Guard",
                "separator": True,
                "items": [
                    _page("Guard endpoints", "shield", "registry_app_guardendpoint"),
                    _page("Desired endpoints", "playlist_add_check", "registry_app_desiredendpoint"),
                    _page("Held deletes", "front_hand", "registry_app_helddelete"),
                    _page("Decisions", "gavel", "registry_app_guarddecision"),
                    _page("Change sets", "send", "registry_app_guardstep"),
                    _page("Contention", "call_split", "registry_app_contention"),
                ],
            },
            {
                "title": "Providers",
                "separator": True,
                "items": [
                    _page("Providers", "cloud", "registry_app_provider"),
                    _page("Syncs", "sync", "registry_app_syncrun"),
                    _page("Held snapshots", "front_hand", "registry_app_heldsnapshot"),
                    _page("Freezes", "ac_unit", "registry_app_freeze"),
                ],
            },
            {
                "title": "Trust",
                "separator": True,
                "items": [
                    _page("Audit", "history", "registry_app_auditentry"),
                    _page("Grants", "key", "registry_app_grant"),
                    _page("API tokens", "token", "registry_app_apitoken"),
                    _page("Users", "person", "auth_user")
                    | {"permission": lambda request: request.user.has_perm("auth.view_user")},
                    _page("Groups", "group", "auth_group")
                    | {"permission": lambda request: request.user.has_perm("auth.view_group")},
                ],
            },
        ],
    },
}
