"""Turns a step into a call of whatever tool the CLI offers for it, with arguments made from the tool's schema."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mock_models.script import Request, Step

__all__ = ["TOOL_VERBS", "Call", "offers", "tool_call"]

_NAMES = {
    "bash": (
        *("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "Execute"),
        *("run_terminal_command", "run_terminal_cmd", "run_commands", "execute_command", "Shell", "run_command"),
    ),
    "write": (
        *("Write", "write_file", "write", "create", "Create", "write_to_file", "WriteFile", "create_file"),
        *("edit_file", "editor", "search_replace", "apply_patch", "ApplyPatch"),
    ),
    "edit": (
        *("Edit", "replace", "edit", "search_replace", "str_replace_editor", "StrReplaceFile", "edit_file", "editor"),
        *("apply_patch", "ApplyPatch"),
    ),
    "read": ("Read", "read_file", "read", "view", "ReadFile", "read_files"),
    "ask": (
        *("AskUserQuestion", "ask_user_question", "ask_user", "question", "request_user_input", "AskUser"),
        *("ask_question", "ask_followup_question", "ask"),
    ),
    "plan": ("ExitPlanMode", "exit_plan_mode", "plan_exit"),
    "todo": (
        *("TodoWrite", "todo_write", "write_todos", "todowrite", "update_plan", "TaskCreate", "todo", "TodoList"),
        *("SetTodoList",),
    ),
    "agent": ("Agent", "Task", "task", "agent", "spawn_agent", "invoke_agent", "spawn_subagent", "use_subagents"),
}
_NAMES["bg"] = _NAMES["bash"]
_NAMES["agentbg"] = _NAMES["agent"]
TOOL_VERBS = frozenset({*_NAMES, "raw", "title"})

_CODED = {"bash": "exec_command", "bg": "exec_command", "todo": "update_plan", "ask": "request_user_input"}
_ESCALATE = "ESC "  # asks for a run outside the sandbox, where a CLI has one
_REASON = "Do you want to allow the mock command to run outside the sandbox?"
_OPTIONS = ("Red", "Blue", "Green")
_TODO = (("Read the code", "completed"), ("Write the fix", "in_progress"), ("Run the tests", "pending"))


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; the arguments are text for a free-form tool."""

    name: str
    arguments: dict[str, Any] | str

    def as_json(self) -> str:
        """Return the arguments as JSON text."""
        return json.dumps(self.arguments)


def offers(verb: str, tools: Collection[str]) -> bool:
    """Tell whether one of these tools does what a verb wants."""
    return any(name in tools for name in _NAMES[verb]) or ("exec" in tools and verb in _CODED)


def tool_call(step: Step, request: Request, project: Path) -> Call | None:
    """Return the call for a step, None when the CLI offers no tool for it."""
    if step.verb == "raw":
        name, _, text = step.argument.partition(" ")
        return Call(name, json.loads(text or "{}"))
    if step.verb == "title":
        name = request.titles or ""
        return Call(name, _fill(request.tools[name] or {}, dict.fromkeys(("title", name), "Mock title")))
    offered = [known for known in _NAMES[step.verb] if known in request.tools]
    if not offered:
        if "exec" in request.tools and step.verb in _CODED:
            return _in_code(step)
        return None
    name = offered[0]
    schema = request.tools[name]
    if name.lower() == "apply_patch":
        return _patch(step, name, schema)
    special = _SPECIAL.get(name)
    if special is not None:
        properties = (schema or {}).get("properties") or {}
        arguments = special(properties)
        if arguments is not None:
            return Call(name, arguments)
    return Call(name, _fill(schema or {}, _hints(step, name, project)))


def _in_code(step: Step) -> Call:
    """A CLI that offers only a JavaScript tool gets the call written as JavaScript."""
    inner = {"bash": "exec_command", "bg": "exec_command", "todo": "update_plan", "ask": "request_user_input"}[
        step.verb
    ]
    arguments = _hints(step, inner, Path())
    kept = {
        "exec_command": ("cmd", "yield_time_ms", "sandbox_permissions", "justification"),
        "update_plan": ("plan",),
        "request_user_input": ("questions",),
    }[inner]
    chosen = {key: arguments[key] for key in kept if key in arguments}
    return Call("exec", f"const r = await tools.{inner}({json.dumps(chosen)}); text(r);")


def _patch(step: Step, name: str, schema: dict[str, Any] | None) -> Call:
    target = step.argument or "new.txt"
    body = (
        f"*** Update File: {target}\n@@\n-hello\n+goodbye\n"
        if step.verb == "edit"
        else f"*** Add File: {target}\n+line one\n+line two\n"
    )
    text = f"*** Begin Patch\n{body}*** End Patch\n"
    if schema is None:
        return Call(name, text)
    return Call(name, {key: text for key in schema.get("properties") or {"input": {}} if key in ("input", "patch")})


def _hints(step: Step, name: str, project: Path) -> dict[str, Any]:
    """Values by property name; those that a schema does not have are left out."""
    argument = step.argument
    match step.verb:
        case "bash" | "bg":
            outside = argument.startswith(_ESCALATE)
            command = argument.removeprefix(_ESCALATE)
            hints: dict[str, Any] = dict.fromkeys(("command", "cmd", "script", "commands"), command)
            hints["description"] = "Run a mock command"
            hints["yield_time_ms"] = 1000 if step.verb == "bg" else 10000
            hints["is_background"] = step.verb == "bg"
            if step.verb == "bg":
                hints["run_in_background"] = True
            if outside:
                hints |= {"sandbox_permissions": "require_escalated", "justification": _REASON}
            if name == "Execute":
                hints["riskLevel"] = "medium"
            return hints
        case "write" | "edit" | "read":
            target = str(project / (argument or "new.txt"))
            hints = dict.fromkeys(("file_path", "filePath", "path", "absolute_path", "target_file"), target)
            if step.verb == "write":
                text = "line one\nline two\nline three\n"
                hints |= dict.fromkeys(("content", "file_text", "contents", "file_content"), text)
            if step.verb == "edit":
                hints |= dict.fromkeys(("old_string", "oldString", "old_str", "oldText"), "hello")
                hints |= dict.fromkeys(("new_string", "newString", "new_str", "newText"), "goodbye")
                hints["instruction"] = "Change hello to goodbye"
            hints["command"] = {"write": "create", "edit": "str_replace", "read": "view"}[step.verb]
            return hints
        case "ask":
            question = "Which colour should the button be?"
            one = {
                "question": question,
                "header": "Colour",
                "id": "colour",
                "options": [{"label": label, "description": f"Use {label.lower()}"} for label in _OPTIONS[:2]],
            }
            return {"question": question, "header": "Colour", "id": "colour", "type": "choice", "questions": [one]}
        case "plan":
            return {"plan": "# Plan\n\n1. Do one thing\n2. Do another\n"}
        case "todo":
            return {
                "plan": [{"step": text, "status": status} for text, status in _TODO],
                "subject": "Write the fix",
                "activeForm": "Writing the fix",
            }
        case _:
            prompt = f"Work as a subagent. [[slow {argument or 10}]]"
            hints = dict.fromkeys(("prompt", "message", "task", "assignment"), prompt)
            hints |= {"description": "Mock subagent", "task_name": "mock_child", "agent_name": "generalist"}
            hints["subagent_type"] = "general" if name == "task" else "general-purpose"
            if step.verb == "agentbg":
                hints["run_in_background"] = True
            return hints


def _fill(schema: dict[str, Any], hints: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return arguments that a schema accepts: the required ones, and those that a hint is for."""
    properties: dict[str, Any] = schema.get("properties") or {}
    required = schema.get("required") or []
    return {
        key: _value(key, rule, hints, depth)
        for key, rule in properties.items()
        if key in required
        or (key in hints and depth == 0)
        or (depth and key in ("label", "status", "content", "options", "type"))
    }


def _value(key: str, rule: dict[str, Any], hints: dict[str, Any], depth: int) -> Any:
    for choice in ("anyOf", "oneOf"):
        if rule.get(choice):
            return _value(key, rule[choice][0], hints, depth)
    if rule.get("enum"):
        return hints[key] if hints.get(key) in rule["enum"] else rule["enum"][0]
    kind = rule.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return _array(key, rule, hints, depth)
    if kind == "object":
        return _fill(rule, hints, depth + 1) if depth < 5 else {}
    if key in hints and not isinstance(hints[key], list):
        return hints[key]
    if kind == "boolean":
        return False
    if kind in ("integer", "number"):
        return rule.get("minimum") or 60
    return f"mock {key}"


def _array(key: str, rule: dict[str, Any], hints: dict[str, Any], depth: int) -> list[Any]:
    item: dict[str, Any] = rule.get("items") or {}
    hint = hints.get(key)
    if isinstance(hint, str):
        return ["bash", "-lc", hint] if key == "command" else [_value(key, item, hints, depth + 1)]
    if "option" in key.lower():
        return [_option(item, label) for label in _OPTIONS[:2]]
    if key == "todos":
        return [_todo(item, text, status) for text, status in _TODO]
    if isinstance(hint, list) and key == "plan":
        return hint
    return [_value(key, item, hints, depth + 1) for _ in range(max(1, rule.get("minItems", 1)))]


def _option(item: dict[str, Any], label: str) -> Any:
    if item.get("type") != "object":
        return label
    texts = {"description": f"Use {label.lower()}"} | dict.fromkeys(("label", "name", "value", "title", "id"), label)
    return _fill(item, texts)


def _todo(item: dict[str, Any], text: str, status: str) -> dict[str, Any]:
    texts = dict.fromkeys(("content", "description", "title", "activeForm"), text)
    return _fill(item, {**texts, "status": status, "id": text[:4], "priority": "high"})


def _form(properties: dict[str, Any]) -> dict[str, Any] | None:
    """A question as a form schema, where a CLI takes one."""
    if "requestedSchema" not in properties:
        return None
    field = {"type": "string", "title": "Colour", "enum": list(_OPTIONS[:2])}
    return {
        "message": "Which colour should the button be?",
        "requestedSchema": {"properties": {"colour": field}, "required": ["colour"]},
    }


def _questionnaire(properties: dict[str, Any]) -> dict[str, Any] | None:
    """A question in the line format of the one CLI that takes it as text."""
    if "questionnaire" not in properties:
        return None
    options = "".join(f"[option] {label}\n" for label in _OPTIONS[:2])
    return {"questionnaire": f"1. [question] Which colour should the button be?\n[topic] Colour\n{options}"}


_SPECIAL = {"ask_user": _form, "AskUser": _questionnaire}
