import { resolve } from 'node:path';
import type { PromptResponse, RequestPermissionRequest, Stream } from '@agentclientprotocol/sdk';
import { type Fields, fieldsOf, listOf, textOf } from '../../core/json.ts';
import { isInside } from '../../core/paths.ts';
import { promptText } from '../../models/port.ts';
import {
  type Agent,
  type AgentAction,
  type AgentTask,
  type Dialogue,
  type EventReader,
  failedFor,
  stringIn,
  toolCalled,
} from './agent.ts';

/** Any agent that speaks the Agent Client Protocol, version 1, over its standard streams. Each call is a session. */
export const acp: Agent = {
  folder: null,
  permanentExits: new Set([126, 127]),
  prepare: async (task) => ({
    args: ['-c', task.spec.command ?? ''],
    env: throughGateway(task),
    input: createDialogue(task),
  }),
  createReader: createAcpReader,
};

/** Variables that most agents read; one that doesn't calls its vendor directly, and is not metered. */
function throughGateway({ endpointOf, token }: AgentTask): Record<string, string> {
  const anthropic = endpointOf('anthropic');
  const openai = endpointOf('openai');
  const google = endpointOf('google');
  return {
    ...(anthropic === undefined ? {} : { ANTHROPIC_BASE_URL: anthropic, ANTHROPIC_API_KEY: token }),
    ...(openai === undefined ? {} : { OPENAI_BASE_URL: `${openai}/v1`, OPENAI_API_KEY: token }),
    ...(google === undefined ? {} : { GOOGLE_GEMINI_BASE_URL: google, GEMINI_API_KEY: token }),
  };
}

const AUTH_REQUIRED = -32_000;

function createDialogue(task: AgentTask): Dialogue {
  const reader = createAcpReader();
  const { read } = reader;
  const readable = new ReadableStream<object>({
    start(incoming) {
      reader.read = (event) => {
        incoming.enqueue(event);
        return read(event);
      };
    },
  });
  const hold = async (send: (line: string) => void): Promise<void> => {
    const { client, methods, PROTOCOL_VERSION, RequestError } = await import('@agentclientprotocol/sdk');
    const writable = new WritableStream<object>({ write: (message) => send(JSON.stringify(message)) });
    const app = client({ name: 'agentos' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => answerTo(params, task))
      .onNotification(methods.client.session.update, () => undefined);
    const prompt = promptText([{ text: task.system }, { text: task.conventions }, { text: task.task }]);
    await app.connectWith({ readable, writable } as Stream, async (agent) => {
      const { authMethods } = await agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      });
      const open = () => agent.request(methods.agent.session.new, { cwd: task.worktree, mcpServers: [] });
      const { sessionId } = await open().catch(async (error: unknown) => {
        const method = authMethods?.find(({ id }) => /api.?key/i.test(id));
        if (!(error instanceof RequestError) || error.code !== AUTH_REQUIRED || method === undefined) throw error;
        await agent.request(methods.agent.authenticate, { methodId: method.id });
        return open();
      });
      const asked = { sessionId, prompt: [{ type: 'text' as const, text: prompt }] };
      const { stopReason } = (await agent.request(methods.agent.session.prompt, asked)) as PromptResponse;
      reader.verdict = stopReason === 'end_turn' ? { is: 'done' } : failedFor(`it stopped: ${stopReason}`);
    });
  };
  return {
    reader,
    hold: (send) =>
      hold(send).catch((error: unknown) => {
        reader.verdict = { is: 'failed', why: error instanceof Error ? error.message : String(error) };
      }),
  };
}

/** Always allowed in the worktree; the rest only if the agent may write. */
const READS: ReadonlySet<unknown> = new Set(['read', 'search', 'think']);

type Permission = Pick<RequestPermissionRequest, 'toolCall' | 'options'>;

export function answerTo({ toolCall, options }: Permission, { may, worktree }: Pick<AgentTask, 'may' | 'worktree'>) {
  const paths = [...(toolCall.locations ?? []), ...(toolCall.content ?? []), fieldsOf(toolCall.rawInput)]
    .flatMap((place) => PATH_FIELDS.map((field) => textOf(fieldsOf(place)[field])))
    .filter((path) => path !== undefined && path !== '');
  const isWithin = paths.every((path) => isInside(worktree, resolve(worktree, path ?? '')));
  const isAllowed = isWithin && (may === 'write' || READS.has(toolCall.kind));
  const wanted = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const option = wanted.map((kind) => options.find((each) => each.kind === kind)).find(Boolean);
  if (option === undefined) return { outcome: { outcome: 'cancelled' as const } };
  return { outcome: { outcome: 'selected' as const, optionId: option.optionId } };
}

const PATH_FIELDS = ['path', 'file_path', 'filePath', 'absolute_path', 'filepath', 'cwd'];

/*
 * {"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"…"}}}}
 * {"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"1","title":"Write a.ts",…}}}
 * {"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed",…}}}
 * {"method":"session/request_permission","params":{"toolCall":{"toolCallId":"1","title":"Write a.ts",…}}}
 */
export function createAcpReader(): EventReader {
  /** Updates add to what is known of a call; it is complete when the call has ended. */
  const calls = new Map<unknown, Fields>();
  const called = (update: Fields): AgentAction[] => {
    const call = { ...calls.get(update['toolCallId']), ...update };
    calls.set(update['toolCallId'], call);
    reader.lastWords = '';
    const { title, status, locations, rawInput, content } = call;
    if (status !== 'completed' && status !== 'failed') return [];
    const path = listOf(locations).map((place) => place['path'])[0];
    const back = listOf(content).map((part) => stringIn(fieldsOf(part['content'])['text']));
    const failed = status === 'failed';
    return [toolCalled(title, { path, ...fieldsOf(rawInput) }), { type: 'result', text: back.join('\n'), failed }];
  };
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read({ method, params }) {
      const { update: given, toolCall } = fieldsOf(params);
      if (method === 'session/request_permission') return called(fieldsOf(toolCall));
      const update = fieldsOf(method === 'session/update' ? given : null);
      const kind = update['sessionUpdate'];
      if (kind === 'tool_call' || kind === 'tool_call_update') return called(update);
      if (kind !== 'agent_message_chunk') return [];
      const text = stringIn(fieldsOf(update['content'])['text']);
      reader.lastWords += text;
      return [{ type: 'piece', text }];
    },
  };
  return reader;
}
