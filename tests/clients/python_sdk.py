"""The Python SDK as client of `visus`: both transports, both eras of the protocol.

Usage: python python_sdk.py PATH_OF_VISUS

Makes its own clips, starts its own servers, prints what it checked, and ends with 1 at the first miss.
"""

import asyncio
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "only-for-this-test"
# Generous: nothing here is about speed, and a loaded machine is slow.
PATIENCE = 60
ERAS = [("older era", "legacy", "2025-"), ("newer era", "2026-07-28", "2026-07-28")]


def check(what, holds):
    if not holds:
        raise AssertionError(what)
    print(f"    ok: {what}", flush=True)


def make_clips(visus, folder):
    """Real clips of the self-test, and a long black one that takes no room on the disk."""
    subprocess.run([visus, "selftest", "--write-clips", folder], check=True, stdout=subprocess.DEVNULL)
    for name in ["long_ref.yuv", "long_dis.yuv"]:
        with open(folder / name, "wb") as file:
            file.truncate(640 * 360 * 3 // 2 * 20_000)


@asynccontextmanager
async def over_stdio(visus, folder):
    yield stdio_client(StdioServerParameters(command=visus, args=["mcp", "--allow", str(folder)]))


@asynccontextmanager
async def over_http(visus, folder):
    """A server of our own on a port that the system chooses."""
    environment = dict(os.environ, VMAFX_MCP_HTTP_TOKEN=TOKEN)
    command = [visus, "serve", "--port", "0", "--allow", str(folder)]
    server = await asyncio.create_subprocess_exec(*command, env=environment, stderr=asyncio.subprocess.PIPE)
    try:
        port = await asyncio.wait_for(listening_port(server), PATIENCE)
        # The server logs every request; nobody reads that here, and a full pipe would stop it.
        asyncio.create_task(server.stderr.read())
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            yield streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
    finally:
        server.terminate()
        await asyncio.wait_for(server.wait(), PATIENCE)


async def listening_port(server):
    while line := await server.stderr.readline():
        if found := re.search(rb"127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    raise AssertionError("the server ended before it listened")


def clip(folder, name):
    return {"ref": str(folder / f"{name}_ref.y4m"), "dis": str(folder / f"{name}_dis.y4m")}


def long_clip(folder):
    size = {"width": 640, "height": 360, "pixfmt": "420", "bitdepth": 8}
    return {"ref": str(folder / "long_ref.yuv"), "dis": str(folder / "long_dis.yuv"), **size}


async def lists(client):
    tools = (await client.list_tools()).tools
    check("tools are listed, vmaf_score first", tools[0].name == "vmaf_score")
    check("every tool has a title, hints and an output schema", all(
        tool.title and tool.annotations and tool.output_schema for tool in tools))
    check("prompts are listed", any(p.name == "judge_encode" for p in (await client.list_prompts()).prompts))
    templates = (await client.list_resource_templates()).resource_templates
    check("resource templates are listed", any("jobs/{id}" in t.uri_template for t in templates))


async def calls(client, folder):
    result = await client.call_tool("vmaf_score", clip(folder, "blocks_8-bit"))
    check("vmaf_score answers without an error", not result.is_error)
    mean = result.structured_content["pooled_metrics"]["vmaf"]["mean"]
    check(f"the score is a number between 0 and 100 ({mean})", math.isfinite(mean) and 0 <= mean <= 100)
    check("the text says the same as the data", json.loads(result.content[0].text) == result.structured_content)
    return result.structured_content["job_id"]


async def reads(client, job):
    model = await client.read_resource("visus://models/vmaf_v0.6.1")
    check("a model can be read", json.loads(model.contents[0].text)["name"] == "vmaf_v0.6.1")
    report = await client.read_resource(f"visus://jobs/{job}")
    check("the job's report can be read", json.loads(report.contents[0].text)["job_id"] == job)
    page = await client.read_resource(f"visus://jobs/{job}/frames?from=1&count=1")
    check("one frame of it can be read", len(json.loads(page.contents[0].text)["frames"]) == 1)
    try:
        await client.read_resource("visus://models/no_such_model")
        check("an unknown resource is an error", False)
    except MCPError as error:
        check("an unknown resource is an error", "no_such_model" in str(error))


async def errs(client, folder):
    missing = await client.call_tool("vmaf_score", {"ref": str(folder / "blur_8-bit_ref.y4m")})
    text = json.loads(missing.content[0].text)["error"]
    check("a missing argument is named", missing.is_error and text == "tool 'vmaf_score' missing required argument: 'dis'")
    outside = await client.call_tool("vmaf_score", {"ref": "/etc/hostname", "dis": "/etc/hostname"})
    text = json.loads(outside.content[0].text)["error"]
    check("a file outside the roots is refused", outside.is_error and "not under an allowlisted root" in text)


async def progresses(client, folder):
    heard = []

    async def hear(done, total, message):
        heard.append((done, total, message))

    arguments = dict(long_clip(folder), frame_cnt=400, detail="summary")
    result = await client.call_tool("vmaf_score", arguments, progress_callback=hear)
    check("a call with progress answers", not result.is_error)
    check(f"progress came {len(heard)} times, with a total", heard and all(total == 400 for _, total, _ in heard))
    steps = [done for done, _, _ in heard]
    check("it only grows", steps == sorted(set(steps)))


async def cancels(client, folder):
    begun = asyncio.Event()

    async def hear(done, total, message):
        begun.set()

    async def work():
        await client.call_tool("vmaf_score", long_clip(folder), progress_callback=hear)

    call = asyncio.create_task(work())
    await asyncio.wait_for(begun.wait(), PATIENCE)
    check("the job is running", "running" in await statuses(client))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    with anyio.fail_after(PATIENCE):
        while "running" in await statuses(client):
            await asyncio.sleep(0.05)
    check("cancelled: the job has ended", "cancelled" in await statuses(client))


async def statuses(client):
    jobs = (await client.call_tool("list_jobs")).structured_content["jobs"]
    return [job["status"] for job in jobs]


async def main(visus):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        make_clips(visus, folder)
        for where, transport in [("stdio", over_stdio), ("HTTP", over_http)]:
            for era, mode, version in ERAS:
                print(f"  Python mcp over {where}, {era}", flush=True)
                async with transport(visus, folder) as streams, Client(streams, mode=mode) as client:
                    check(f"the protocol is {client.protocol_version}", client.protocol_version.startswith(version))
                    await lists(client)
                    await reads(client, await calls(client, folder))
                    await errs(client, folder)
                    await progresses(client, folder)
                    await cancels(client, folder)


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(sys.argv[1]), 600))
