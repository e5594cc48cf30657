// Lists the agents, reports progress of its own pane, watches that pane, and waits for it: run it in a pane.
// Needs @grpc/grpc-js and @grpc/proto-loader, and the contract's folder as its argument.
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [protos] = process.argv.slice(2);
const files = ["prowl/v1/agents.proto", "prowl/v1/panes.proto"];
const options = { includeDirs: [protos], keepCase: true, enums: String, longs: Number, defaults: true, oneofs: true };
const { prowl } = grpc.loadPackageDefinition(loader.loadSync(files, options));

const runtime = process.env.XDG_RUNTIME_DIR;
const socket =
  process.env.PROWL_SOCKET ?? (runtime ? `${runtime}/prowl/prowl.sock` : `/tmp/prowl-${process.getuid()}/prowl.sock`);
const channel = [`unix:${socket}`, grpc.credentials.createInsecure()];
const agents = new prowl.v1.AgentService(...channel);
const panes = new prowl.v1.PaneService(...channel);

const call = (client, method, request = {}) =>
  new Promise((resolve, reject) =>
    client[method](request, (error, answer) => (error ? reject(error) : resolve(answer))));

// Yields the events of a pane. An observer that was too slow is closed; a new call begins with a fresh snapshot.
async function* observe(pane) {
  for (;;) {
    const stream = agents.Observe({ pane });
    try {
      for await (const batch of stream) yield* batch.events;
      return;
    } catch (error) {
      if (error.code !== grpc.status.RESOURCE_EXHAUSTED) throw error;
      console.log("gap: events were lost");
    } finally {
      stream.cancel();
    }
  }
}

for (const agent of (await call(agents, "ListAgents")).agents) {
  const status = agent.entry.status.replace("AGENT_STATUS_", "").toLowerCase();
  console.log(`${agent.target.pane.handle} ${agent.entry.type} ${status}`);
}

const { caller } = await call(panes, "ListPanes");
if (!caller) {
  console.error("run this in a pane: prowl run -- node agents.mjs PROTO");
  process.exit(1);
}
const pane = caller.pane_id;

let seen = false;
const watching = (async () => {
  for await (const event of observe(pane)) {
    console.log(`event ${event.event} at revision ${event.revision}`);
    if (event.event === "signal") break;
  }
  seen = true;
})();
while (!seen) {
  const answer = await call(agents, "Signal", { kind: "SIGNAL_KIND_PROGRESS", progress: 50 });
  console.log(`signalled: ${answer.binding}`);
  await Promise.race([watching, new Promise((resolve) => setTimeout(resolve, 200))]);
}

try {
  const condition = { pane, until: "WAIT_CONDITION_IDLE" };
  const answer = await call(agents, "Wait", { condition, timeout_seconds: 1 });
  console.log(`idle after ${answer.waited_ms} ms`);
} catch (error) {
  console.log(`wait: ${grpc.status[error.code]}`);
}
console.log("done");
agents.close();
panes.close();
