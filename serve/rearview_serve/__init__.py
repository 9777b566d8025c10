"""The service: a Ray Serve application, HTTP, MCP and the command line.

Belongs here: processes, wires, credentials. Never here: what a memory is or how it is found, which
is `rearview_pipelines`; anything of Kubernetes, which is `rearview_operator`.
"""

from importlib.metadata import version

__version__ = version("rearview")
