// List agents, observe a pane, wait for it, signal: a program of its own, with gRPC and the contract and no more.
//
// usage: agents.mjs list
//        agents.mjs observe PANE
//        agents.mjs wait PANE idle|blocked|changed|exit [SECONDS]
//        agents.mjs signal turn-ended|needs-input|session-start|session-end|progress

import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const contract = loader.loadSync(['prowl/v1/agents.proto', 'prowl/v1/errors.proto', here('status.proto')], {
  includeDirs: [here('../../../proto')],
  longs: String, // revisions are 64 bits wide
  enums: String,
  defaults: true,
  arrays: true,
  oneofs: true,
});
const { AgentService } = grpc.loadPackageDefinition(contract).prowl.v1;

// Where the service listens; the authority of a Unix socket is set by hand, below.
function address() {
  const { PROWL_SOCKET, XDG_RUNTIME_DIR } = process.env;
  const folder = XDG_RUNTIME_DIR ? `${XDG_RUNTIME_DIR}/prowl` : `/tmp/prowl-${process.getuid()}`;
  return `unix:${PROWL_SOCKET || `${folder}/prowl.sock`}`;
}

// The stable code of a failed call, and the details that came with it by their type.
function failure(error) {
  const [packed] = error.metadata?.get('grpc-status-details-bin') ?? [];
  const details = {};
  for (const { type_url: type, value } of packed ? contract['google.rpc.Status'].deserialize(packed).details : []) {
    const name = type.slice(type.lastIndexOf('/') + 1);
    details[name] = contract[name]?.deserialize(value);
  }
  return { code: details['google.rpc.ErrorInfo']?.reason ?? grpc.status[error.code], details };
}

// AGENT_STATUS_WORKING is working, SIGNAL_KIND_TURN_ENDED turn-ended.
const word = (enumeration, value) => value.slice(enumeration.length + 1).toLowerCase().replaceAll('_', '-');
const described = (agent) => `${agent.type} ${word('AGENT_STATUS', agent.status)}`;

function line({ revision, event, ...held }) {
  const what = {
    snapshot: () => `snapshot ${held.snapshot.agent ? described(held.snapshot.agent) : 'none'}`,
    changed: () => `changed ${described(held.changed)}`,
    signal: () => {
      const { signal, binding } = held.signal;
      return `signal ${word('SIGNAL_KIND', signal.kind)} ${word('SIGNAL_BINDING', binding)}`;
    },
    removed: () => 'removed',
    surfaceClosed: () => 'closed',
  }[event];
  return `${revision} ${what ? what() : 'unknown'}`; // unknown: of a newer service
}

const call = (service, method, request, seconds) =>
  new Promise((resolve, reject) => {
    const deadline = Date.now() + seconds * 1000;
    service[method](request, { deadline }, (error, answer) => (error ? reject(error) : resolve(answer)));
  });

const commands = {
  // Prints every agent with the pane it runs in.
  async list(service) {
    for (const { id, entry } of (await call(service, 'ListAgents', {}, 10)).agents) {
      console.log(`${id} ${described(entry)}`);
    }
  },

  // Prints the events of a pane until it closes; an overflow is bridged by a new subscription.
  async observe(service, pane) {
    for (;;) {
      try {
        for await (const batch of service.Observe({ pane })) {
          for (const event of batch.events) console.log(line(event));
        }
        return;
      } catch (error) {
        const { code, details } = failure(error);
        if (code !== 'BUFFER_OVERFLOW') throw error;
        const lost = details['prowl.v1.OverflowDetails'];
        console.log(`gap from ${lost.firstLostRevision} to ${lost.currentRevision}`);
      }
    }
  },

  // Prints what answered the wait. The deadline of the call is longer: the service's own answer says more.
  async wait(service, pane, until, seconds = '600') {
    const condition = { pane, until: `WAIT_CONDITION_${until.toUpperCase()}` };
    const request = { condition, timeoutSeconds: Number(seconds) };
    const { observation } = await call(service, 'Wait', request, Number(seconds) + 10);
    console.log(`${word('AGENT_STATUS', observation.status)} by ${observation.source}`);
  },

  // Reports an event of the pane that this very process runs in, and prints whether it counts.
  async signal(service, kind) {
    const value = `SIGNAL_KIND_${kind.toUpperCase().replaceAll('-', '_')}`;
    const answer = await call(service, 'Signal', { kind: value }, 10);
    console.log(`${answer.paneId} ${word('SIGNAL_BINDING', answer.binding)}`);
  },
};

const [command, ...rest] = process.argv.slice(2);
if (!Object.hasOwn(commands, command ?? '')) {
  console.error('usage: agents.mjs list | observe PANE | wait PANE CONDITION [SECONDS] | signal KIND');
  process.exit(64);
}
const service = new AgentService(address(), grpc.credentials.createInsecure(), { 'grpc.default_authority': 'localhost' });
try {
  await commands[command](service, ...rest);
} catch (error) {
  const { code, details } = failure(error);
  console.error(`${code}: ${error.details ?? error.message}`);
  const seen = details['prowl.v1.WaitErrorDetails']?.observation;
  if (seen) console.error(`last seen ${word('AGENT_STATUS', seen.status)}`);
  process.exitCode = 1;
} finally {
  service.close();
}
