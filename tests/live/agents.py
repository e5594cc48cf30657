"""How each agent CLI is run here: configuration against the mock, its dialogs, its keys, what its screen shows."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.live.sandbox import Sandbox

__all__ = ["RECIPES", "Dialog", "Recipe", "recipe"]


@dataclass(frozen=True, slots=True)
class Dialog:
    """A question that an agent asks at its start: how to know it and which keys answer it."""

    name: str
    pattern: str
    keys: tuple[str, ...] = ("enter",)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One agent.

    ``configure`` writes its files and ``environment`` returns its variables. ``ready`` matches the screen once the
    composer is there. ``ask_step`` is the step that makes it ask for permission, None when it never asks;
    ``asking`` matches that prompt, ``ask_write`` and ``ask_agent`` the prompts before a file is written and a sub-agent
    is started, where there are such; ``approve`` and ``deny`` are the keys. ``question`` matches the screen while a
    question of the model is open, None when there is no such tool. ``interrupt`` stops a turn. ``viewer`` opens and
    closes a view that covers the live area. ``refused`` is the state after the model refused: a dialog about it
    is Blocked. ``skip`` names parts of the recorder's script that have no meaning here.
    """

    agent: str
    ready: str
    configure: Callable[[Sandbox], None] = lambda place: None
    environment: Callable[[Sandbox], Mapping[str, str]] = lambda place: {}
    arguments: tuple[str, ...] = ()
    dialogs: tuple[Dialog, ...] = ()
    ask_step: str | None = "bash touch made.txt"
    asking: str = r"$^"
    ask_write: str | None = None
    ask_agent: str | None = None
    approve: tuple[str, ...] = ("enter",)
    deny: tuple[str, ...] = ("escape",)
    question: str | None = None
    dismiss: tuple[str, ...] = ("escape",)
    interrupt: tuple[str, ...] = ("escape",)
    viewer: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    tool_step: str = "bash sleep 6; touch made.txt"
    boot: float = 30.0
    refused: str = "idle"
    skip: tuple[str, ...] = ()


def _claude(place: Sandbox) -> None:
    place.write(".claude.json", json.dumps({"hasCompletedOnboarding": True, "theme": "dark"}))


def _claude_environment(place: Sandbox) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "sk-ant-api03-" + "mock" * 10,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",
    }


CLAUDE = Recipe(
    "claude",
    ready=r"^❯",
    configure=_claude,
    environment=_claude_environment,
    arguments=("--permission-mode", "default"),
    dialogs=(
        Dialog("trust", r"❯ No, exit", ("down", "enter")),
        Dialog("trust", r"❯ 1\. Yes, I trust"),
        Dialog("api-key", r"custom API key", ("up", "enter")),
    ),
    asking=r"Do you want|❯ 1\. Yes",
    ask_write=r"Do you want",
    question=r"Which colour",
    viewer=(("ctrl-o",), ("ctrl-o",)),
)


def _codex(place: Sandbox) -> None:
    place.write(
        ".codex/config.toml",
        f"""model = "mock-model"
model_provider = "mock"
check_for_update_on_startup = false
suppress_unstable_features_warning = true
[model_providers.mock]
name = "Mock"
base_url = "{place.url}/v1"
wire_api = "responses"
experimental_bearer_token = "mock"
requires_openai_auth = false
request_max_retries = 2
stream_max_retries = 2
[features]
default_mode_request_user_input = true
""",
    )


CODEX = Recipe(
    "codex",
    ready=r"mock-model",
    configure=_codex,
    dialogs=(Dialog("trust", r"› 1\. (Trust|Yes)"),),
    ask_step="bash ESC touch made.txt",
    asking=r"Would you like|› 1\. Yes",
    question=r"Question 1/1",
    viewer=(("page-up",), ("escape",)),
    skip=("agents",),  # its sub-agents go on after their parent's turn, which no screen tells
    tool_step="bash ESC sleep 6; touch made.txt",
)


def _pi(place: Sandbox) -> None:
    model = {"id": "mock-model", "name": "Mock Model", "reasoning": True, "contextWindow": 128000, "maxTokens": 8000}
    provider = {"baseUrl": f"{place.url}/v1", "api": "openai-completions", "apiKey": "x", "models": [model]}
    place.write(".pi/agent/models.json", json.dumps({"providers": {"mock": provider}}))
    settings = {"defaultProvider": "mock", "defaultModel": "mock-model", "defaultThinkingLevel": "medium"}
    place.write(".pi/agent/settings.json", json.dumps(settings))


PI = Recipe(
    "pi",
    ready=r"mock-model",
    configure=_pi,
    environment=lambda place: {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
    ask_step=None,
)


def _gemini(place: Sandbox) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    place.write(".gemini/settings.json", json.dumps(settings))


GEMINI = Recipe(
    "gemini",
    ready=r"Type your message",
    configure=_gemini,
    environment=lambda place: {"GEMINI_API_KEY": "mock", "GOOGLE_GEMINI_BASE_URL": place.url},
    dialogs=(Dialog("trust", r"Trust folder"),),
    asking=r"● 1\.|Allow execution|Apply this change",
    ask_write=r"Apply this change",
    question=r"Which colour",
)


def _qwen(place: Sandbox) -> None:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"name": "mock-model"},
        "tools": {"useRipgrep": False},
    }
    place.write(".qwen/settings.json", json.dumps(settings))


QWEN = Recipe(
    "qwen",
    ready=r"Type your message",
    configure=_qwen,
    environment=lambda place: {
        "OPENAI_API_KEY": "mock",
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_MODEL": "mock-model",
    },
    arguments=("--approval-mode", "default"),
    dialogs=(Dialog("trust", r"Trust folder"),),
    asking=r"[●›❯] 1\.|Allow execution|Apply this change",
    ask_write=r"Apply this change",
    ask_agent=r"Do you want to proceed",
    question=r"Which colour",
    tool_step='bash python3 -c "import time; time.sleep(6)"',
)


def _opencode_environment(place: Sandbox) -> dict[str, str]:
    model = {
        "name": "Mock Model",
        "tool_call": True,
        "reasoning": True,
        "limit": {"context": 128000, "output": 8192},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "mock"},
        "models": {"mock-model": model},
    }
    content = {
        "autoupdate": False,
        "share": "disabled",
        "model": "mock/mock-model",
        "small_model": "mock/mock-model",
        "provider": {"mock": provider},
        "permission": {"bash": "ask", "edit": "ask"},
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(content),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


OPENCODE = Recipe(
    "opencode",
    ready=r"Ask anything",
    environment=_opencode_environment,
    asking=r"Permission required",
    ask_write=r"Permission required",
    question=r"Which colour",
    interrupt=("escape", "escape"),
    boot=90.0,
)

COPILOT = Recipe(
    "copilot",
    ready=r"/ commands|Interactive · Manual",
    environment=lambda place: {
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    },
    dialogs=(Dialog("trust", r"Confirm folder trust"),),
    asking=r"Do you want to run|❯ 1\. Yes",
    ask_write=r"Do you want",
    question=r"Copilot needs information",
    interrupt=("escape", "escape"),
)


def _omp(place: Sandbox) -> None:
    place.write(
        ".omp/agent/models.yml",
        f"""providers:
  mock:
    baseUrl: {place.url}/v1
    api: openai-completions
    apiKey: x
    models:
      - id: mock-model
        name: Mock Model
        reasoning: false
        input: [text]
        contextWindow: 128000
        maxTokens: 8000
        cost: {{input: 0, output: 0, cacheRead: 0, cacheWrite: 0}}
""",
    )
    roles = "".join(f"  {role}: mock/mock-model\n" for role in ("default", "smol", "slow"))
    place.write(".omp/agent/config.yml", f"modelRoles:\n{roles}setupVersion: 999\n")


OMP = Recipe(
    "omp",
    ready=r"Mock Model",
    configure=_omp,
    environment=lambda place: {
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",  # nothing listens there: no news of newer versions
    },
    arguments=("--approval-mode", "always-ask"),
    asking=r"Allow tool",
    ask_agent=r"Allow tool",
    ask_write=r"Allow tool",
    question=r"─ Ask ─",
)


def _cline(place: Sandbox) -> None:
    settings = {"provider": "openai-compatible", "apiKey": "x", "model": "mock-model", "baseUrl": f"{place.url}/v1"}
    providers = {
        "version": 1,
        "lastUsedProvider": "openai-compatible",
        "modes": {},
        "providers": {
            "openai-compatible": {
                "settings": settings,
                "updatedAt": "2026-01-01T00:00:00.000Z",
                "tokenSource": "manual",
            }
        },
    }
    place.write(".cline/data/settings/providers.json", json.dumps(providers))


CLINE = Recipe(
    "cline",
    ready=r"Auto-approve",
    configure=_cline,
    environment=lambda place: {"CLINE_TELEMETRY_DISABLED": "1", "CLINE_NO_AUTO_UPDATE": "1"},
    arguments=("--auto-approve", "false"),
    dialogs=(Dialog("promotion", r"any other key to close", ("x",)),),
    asking=r"Cline needs permission",
    ask_write=r"needs permission",
    approve=("y",),
    deny=("n",),
    question=r"Cline is asking a question",
    ask_agent=r"Cline needs permission",
)


def _kimi(place: Sandbox) -> None:
    place.write(
        ".kimi-code/config.toml",
        f"""default_model = "mock"
telemetry = false
[models.mock]
provider = "mock"
model = "mock-model"
max_context_size = 128000
[providers.mock]
type = "openai"
base_url = "{place.url}/v1"
api_key = "x"
""",
    )


KIMI = Recipe(
    "kimi",
    ready=r"context:",
    configure=_kimi,
    environment=lambda place: {"KIMI_DISABLE_TELEMETRY": "1"},
    dialogs=(Dialog("trust", r"Trust this folder"),),
    asking=r"Run this command\?",
    question=r"→ \[1\] Red",
    skip=("agents",),  # its tool wants the name of a configured sub-agent
)


def _droid(place: Sandbox) -> None:
    model = {
        "model": "mock-model",
        "displayName": "Mock",
        "baseUrl": f"{place.url}/v1",
        "apiKey": "x",
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 8000,
    }
    defaults = {"model": "custom:Mock-0", "autonomyMode": "normal"}
    settings = {"customModels": [model], "sessionDefaultSettings": defaults, "model": "custom:Mock-0"}
    place.write(".factory/settings.json", json.dumps(settings))


DROID = Recipe(
    "droid",
    ready=r"\? for help",
    configure=_droid,
    environment=lambda place: {
        "FACTORY_API_KEY": "fk-mock",
        "FACTORY_API_BASE_URL": place.url,
        "FACTORY_AIRGAP_ENABLED": "true",
        "FACTORY_DISABLE_AUTOUPDATE": "1",
    },
    dialogs=(Dialog("trust", r"Trust this folder"),),
    asking=r"to approve|Yes, allow",
    ask_write=r"to approve|Yes, allow",
    question=r"Ask User",
    skip=("agents",),  # its tool wants the name of a configured sub-agent
)


def _grok(place: Sandbox) -> None:
    place.write(
        ".grok/config.toml",
        f"""[cli]
auto_update = false
[models]
default = "mock"
[model.mock]
model = "mock-model"
base_url = "{place.url}/v1"
name = "Mock"
api_key = "x"
api_backend = "chat_completions"
context_window = 128000
[features]
telemetry = false
""",
    )


GROK = Recipe(
    "grok",
    ready=r"❯",
    configure=_grok,
    arguments=("--permission-mode", "default"),
    ask_step="bash rm -rf made",
    asking=r"1 \([●○]\)",
    ask_write=r"1 \([●○]\)",
    approve=(r"/(\d) \([●○]\) Yes, (?:proceed|send once)/",),
    deny=("ctrl-c",),
    question=r"Waiting on a",
    dismiss=("X",),
    interrupt=("ctrl-c",),
    tool_step="bash for i in 1 2 3; do echo $i; sleep 2; done",
    ask_agent=r"Allow Mock subagent",
)

AMP = Recipe(
    "amp",
    ready=r"\? for shortcuts",
    environment=lambda place: {"AMP_URL": place.url, "AMP_API_KEY": "sgamp_mock", "AMP_SKIP_UPDATE_CHECK": "1"},
    ask_step="bash rm -rf made",
    asking=r"Run this command\?",
    interrupt=("escape", "escape"),
    tool_step="bash for i in 1 2 3; do echo $i; sleep 2; done",
    refused="blocked",
)

RECIPES = {
    item.agent: item
    for item in (CLAUDE, CODEX, GEMINI, CLINE, OPENCODE, COPILOT, KIMI, DROID, AMP, PI, OMP, QWEN, GROK)
}


def recipe(agent: str) -> Recipe:
    """Return an agent's recipe; raises KeyError for an agent that cannot be run here."""
    return RECIPES[agent]
