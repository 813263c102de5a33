"""What Linux says of the processor that it runs on."""

import platform


def processor_name() -> str:
    """The name of the model, or of the architecture if the model has none."""
    return _cpuinfo().get("model name") or platform.machine()


def is_virtual_machine() -> bool:
    """Whether a hypervisor has announced itself."""
    return "hypervisor" in _cpuinfo().get("flags", "").split()


def _cpuinfo() -> dict[str, str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            pairs = (line.split(":", 1) for line in file if ":" in line)
            return {key.strip(): value.strip() for key, value in pairs}
    except OSError:
        return {}
