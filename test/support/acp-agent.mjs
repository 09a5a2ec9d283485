// An agent that speaks ACP: asks for the permissions that PERMISSIONS names, one after another, writes down the answers,
// and ends with the words in REPLY. Commands are `node acp-agent.mjs <notes> <file with its reply> [a model of openai-compatible that
// it asks the gateway for]`.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , notes, reply, helper] = process.argv;
const note = (entry) => appendFileSync(notes, `${JSON.stringify(entry)}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const earlier = () =>
  (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []).flatMap(
    (line) => JSON.parse(line).pid ?? [],
  );
const isAlive = (pid) => {
  try {
    // One that has ended, but was not waited for, is still listed.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
const answers = new Map();
let ids = 0;
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = `a${ids++}`;
    answers.set(id, resolve);
    send({ id, method, params });
  });
const options = ['allow_once', 'reject_once'].map((kind) => ({ optionId: kind, name: kind, kind }));
const update = (sessionId, body) => send({ method: 'session/update', params: { sessionId, update: body } });

async function askHelper() {
  const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY: token } = process.env;
  const url = new URL('/openai-compatible/v1/chat/completions', ANTHROPIC_BASE_URL);
  const body = JSON.stringify({ model: helper, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] });
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body });
  note({ helper: response.status, said: await response.text() });
}

async function prompt({ sessionId, prompt: parts }) {
  note({ prompt: parts.map(({ text }) => text).join('') });
  if (helper !== undefined) await askHelper();
  const cwd = process.cwd();
  for (const [kind, path] of [
    ['read', `${cwd}/src/main.js`],
    ['edit', `${cwd}/made.txt`],
    ['edit', `${cwd}/../stray.txt`],
  ]) {
    const toolCall = { toolCallId: `t${ids}`, title: kind, kind, status: 'pending', locations: [{ path }] };
    update(sessionId, { sessionUpdate: 'tool_call', ...toolCall });
    const { outcome } = await ask('session/request_permission', { sessionId, toolCall, options });
    const allowed = outcome.optionId === 'allow_once';
    note({ kind, path: path.slice(cwd.length), allowed });
    if (allowed && kind === 'edit') writeFileSync(path, 'made\n');
    update(sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId: toolCall.toolCallId,
      status: allowed ? 'completed' : 'failed',
    });
  }
  for (const piece of readFileSync(reply, 'utf8').match(/[^]{1,1000}/g))
    update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: piece } });
  return { stopReason: 'end_turn' };
}

const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, authMethods: [{ id: 'use-api-key', name: 'Key' }] }),
  authenticate: ({ methodId }) => (note({ methodId }), {}),
  'session/new': ({ cwd, mcpServers }) => (
    note({ cwd, mcpServers, env: process.env, pid: process.pid, others: earlier().filter(isAlive) }),
    { sessionId: 's1' }
  ),
  'session/prompt': prompt,
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) return answers.get(id)?.(result);
  send({ id, result: await methods[method](params) });
});
// It stays until it is ended.
setInterval(() => undefined, 1000);
