import type { Readable } from 'node:stream';
import { LONGEST_MS } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { VENDORS } from '../../core/keys.ts';
import { MASK } from '../../core/mask.ts';
import type { AgentSpec } from '../../core/model-spec.ts';
import { NO_USAGE } from '../../core/money.ts';
import { reasonIn } from '../../core/reason.ts';
import { withinBounds } from '../../models/call-bounds.ts';
import { detailOf } from '../../models/detail.ts';
import { fieldsOf } from '../../models/json-fields.ts';
import { type Provider, promptText } from '../../models/port.ts';
import { makeFolder, makeOwnFolder, removeFolder } from '../../process/files.ts';
import { findProgram, interpreted, type ProgramEnd } from '../../process/program.ts';
import { runTaggedProgram } from '../../process/remains.ts';
import type { WriterDependencies } from '../create.ts';
import type { WriteReply, WriteRequest, Writer } from '../port.ts';
import type { Transcript } from '../transcript.ts';
import type { Agent, AgentStart, AgentTask, EventReader } from './agent.ts';
import { AGENTS } from './agents.ts';
import { readConventions } from './conventions.ts';
import { holdDialogue } from './dialogue.ts';
import { createAccountReader, newRefusal, usedBetween, watchGateway } from './gateway-account.ts';
import { placesOfLogin, takeLogin, withOwnHome } from './own-login.ts';

export type AgentWriterOptions = Omit<WriterDependencies, 'maxRounds' | 'costOf' | 'offline'>;

const TRY_OUT_MS = 30_000;
const KEPT_LINES = 20;
/** An event holds at most a file or the output of a command. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024;
const MAX_STRAY_CHARS = 10_000;

/** A command-line agent in the worktree. All its calls go through the gateway, which knows what they used and cost. */
export function createAgentWriter(spec: AgentSpec, options: AgentWriterOptions): Writer {
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: true,
    write: (request) =>
      withinBounds({ what: spec.text, limits: options, signal: request.signal }, (call) =>
        callAgent(spec, options, { ...request, may: 'write' }, call),
      ),
  };
}

export interface AgentProviderOptions extends Omit<AgentWriterOptions, 'env'> {
  /** All that it sees of the environment when it works in this folder. */
  envIn: (directory: string) => Promise<Readonly<Record<string, string>>>;
  onLine: (line: string) => void;
}

/** A command-line agent that reads the repository and answers: its last message is the reply. */
export function createAgentProvider(spec: AgentSpec, options: AgentProviderOptions): Provider {
  return {
    spec: spec.text,
    isModel: true,
    complete: ({ system, parts, stepId, signal, onProgress, inFolder }) =>
      inFolder(async (worktree) => {
        const env = await options.envIn(worktree);
        const task = promptText([...parts, { text: READS }]);
        const step = stepId.replace(/#.*$/, '');
        const asked = { step, worktree, system, task, onLine: options.onLine, may: 'read' } as const;
        const alive = (): void => onProgress?.({ outputChars: 0 });
        const { text, ...used } = await withinBounds({ what: spec.text, limits: options, signal }, (call) =>
          callAgent(spec, { ...options, env }, { ...asked, onProgress: alive }, call),
        );
        if (text === '') throw new AgentosError({ code: 'reply-empty', provider: spec.text }, { retry: 'transient' });
        return { text, asked: spec.text, substituted: false, ...used };
      }),
  };
}

const READS =
  'You are in a checkout of the repository. Read in it what you need, and change nothing. Your last message is taken as the whole reply that is asked for above: not a summary of it, and not the name of a file.';

interface AgentCall extends Pick<WriteRequest, 'step' | 'worktree' | 'system' | 'task' | 'onProgress' | 'onLine'> {
  may: AgentTask['may'];
}

async function callAgent(
  spec: AgentSpec,
  options: AgentWriterOptions,
  request: AgentCall,
  call: { signal: AbortSignal; alive: () => void },
): Promise<WriteReply> {
  const { home, caches, env, onGroup, idleTimeoutMs, ceilingMs } = options;
  const agent = AGENTS[spec.provider];
  const token = options.token.reveal();
  const login = options.ownLogins?.agents.includes(spec.provider) ? options.ownLogins : null;
  const endpoint = login === null ? endpointFor(spec, options) : null;
  // What the repository brings in its own folders is not the agent that was installed.
  const file = await findProgram(agent.program, env['PATH'], request.worktree);
  if (file === null) throw missing(agent);
  const program = await interpreted(file, env['PATH'], request.worktree);
  const alive = (): void => {
    call.alive();
    request.onProgress();
  };
  const ownEnv = login === null ? { ...env, HOME: home } : withOwnHome(env);
  const sandbox = await options.sandbox?.({
    worktree: request.worktree,
    may: request.may,
    env: ownEnv,
    command: spec.command ?? undefined,
    network: login !== null ? ['host'] : spec.command === null ? ['gateway'] : ['gateway', 'models'],
    own: login === null ? [] : placesOfLogin(spec.command ?? agent.program),
  });
  const mask = (text: string): string => options.mask(token === '' ? text : text.replaceAll(token, MASK));
  const run = (
    { args, env: added }: AgentStart,
    input: string | Readable,
    onLine: (line: string, stream: 'stdout' | 'stderr') => void,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<ProgramEnd> =>
    runTaggedProgram({
      command: [...program, ...args],
      cwd: request.worktree,
      env: { ...ownEnv, ...added },
      sandbox,
      input,
      onLine,
      mask,
      onProgress: alive,
      onGroup,
      signal,
      timeoutMs,
      keepBytes: 0,
      longestLine: MAX_EVENT_CHARS,
    });

  await makeFolder(home);
  if (agent.folder !== null) await removeFolder(await makeOwnFolder(home, agent.folder), home);
  const start = await agent.prepare({
    may: request.may,
    command: spec.command,
    model: spec.model,
    vendor: spec.vendor,
    system: request.system,
    task: request.task,
    conventions: await readConventions(request.worktree),
    worktree: request.worktree,
    home,
    caches,
    env,
    endpoint,
    endpointOf: login === null ? options.endpointOf : () => undefined,
    token,
    ceilingMs,
    tryOut: (args, added) =>
      run({ args: [...args], env: { ...added }, input: '' }, '', () => undefined, {
        signal: call.signal,
        timeoutMs: TRY_OUT_MS,
      }),
  });
  for (const note of start.notes ?? []) request.onLine(note);

  const { input } = start;
  const reader = typeof input === 'string' ? agent.createReader() : input.reader;
  const transcript = options.transcripts?.({ step: request.step, agent: spec.text });
  const listener = createListener(reader, (line) => request.onLine(mask(line)), transcript, request);
  const work = async (signal: AbortSignal): Promise<ProgramEnd> => {
    try {
      const end = await (typeof input === 'string'
        ? run(start, input, listener.onLine, { signal, timeoutMs: LONGEST_MS })
        : holdDialogue(input, signal, (stdin, until) =>
            run(start, stdin, listener.onLine, { signal: until, timeoutMs: LONGEST_MS }),
          ));
      transcript?.note({ type: 'agentos-end', exitCode: end.exitCode, signal: end.signal });
      return end;
    } finally {
      await transcript?.close();
    }
  };
  const isDone = (end: ProgramEnd): boolean => end.exitCode === 0 && reader.verdict?.is === 'done';
  const text = (): string => mask(reader.lastWords.trim());
  const unmetered = (): WriteReply => ({
    text: text(),
    answered: null,
    metered: false,
    usage: NO_USAGE,
    costUsd: null,
  });
  if (endpoint === null) {
    const release = login === null ? null : await takeLogin(login, spec.provider, { signal: call.signal, alive });
    const end = await work(call.signal).finally(() => release?.());
    if (!isDone(end)) throw failed(agent, end, reader, listener, mask);
    return unmetered();
  }
  const account = createAccountReader(endpoint, token);
  const before = await account.settled(call.signal);
  const hopeless = new AbortController();
  const stopWatching = watchGateway({
    idleTimeoutMs,
    read: () => account.read(call.signal),
    before,
    onBusy: alive,
    onHopeless: (error) => hopeless.abort(error),
  });
  const signal = AbortSignal.any([call.signal, hopeless.signal]);
  const end = await work(signal).finally(stopWatching);
  const after = await account.settled(call.signal);
  if (!isDone(end)) throw newRefusal(before, after) ?? failed(agent, end, reader, listener, mask);
  // An agent of which it is not known what it speaks may have gone its own way.
  if (after.calls === before.calls && spec.vendor === null) return unmetered();
  if (after.calls === before.calls) throw new AgentosError({ code: 'agent-unmetered', agent: agent.name });
  return { text: text(), answered: after.answered, metered: true, ...usedBetween(before, after) };
}

interface Listener {
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Whether it said anything in the form that it was asked for. */
  began: boolean;
  /** The last of what it said otherwise. */
  stray: string[];
}

/** Lines of standard output that are JSON objects are its events; whatever else it says goes to the log. */
function createListener(
  reader: EventReader,
  log: (line: string) => void,
  transcript: Transcript | undefined,
  { worktree, may }: Pick<AgentCall, 'worktree' | 'may'>,
): Listener {
  /** May be the beginning of the reply, which is a document and no log. */
  const held: string[] = [];
  const listener: Listener = {
    began: false,
    stray: [],
    onLine(line, stream) {
      const event = stream === 'stdout' && line.startsWith('{') ? parseJson(line) : null;
      if (event !== null) {
        listener.began = true;
        transcript?.add(line);
        const before = reader.lastWords;
        const said = reader.read(fieldsOf(event)).map((text) => text.replaceAll(`${worktree}/`, ''));
        const isWords = reader.lastWords !== before && reader.lastWords !== '';
        held.push(...said);
        if (may === 'write' || (said.length > 0 && !isWords && reader.verdict === null)) held.splice(0).forEach(log);
        return;
      }
      const text = line.slice(0, MAX_STRAY_CHARS);
      log(text);
      transcript?.note({ type: 'agentos-line', stream, text });
      if (text.trim() !== '') listener.stray.push(text);
      if (listener.stray.length > KEPT_LINES) listener.stray.shift();
    },
  };
  return listener;
}

function failed(
  agent: Agent,
  { exitCode, signal, missing: neverRan }: ProgramEnd,
  { verdict }: EventReader,
  { began, stray }: Listener,
  mask: (text: string) => string,
): AgentosError {
  // Of a command the shell says what is not there.
  if (neverRan && agent.name !== 'acp') return missing(agent);
  const silent = exitCode === 0 && verdict === null ? 'it ended without a result; ' : '';
  const why = verdict?.is === 'failed' ? verdict.why : `${silent}${reasonIn(stray.join('\n'))}`;
  // One that ends before its first event does so for its arguments or its settings, and these stay the same.
  const neverBegan = !began && signal === null && exitCode !== 0;
  const permanent = neverBegan || (exitCode !== null && agent.permanentExits.has(exitCode));
  return new AgentosError(
    { code: 'agent-failed', agent: agent.name, exitCode, signal, detail: detailOf(mask(why)) },
    { retry: permanent ? 'permanent' : 'transient' },
  );
}

function missing({ name, program, install }: Agent): AgentosError {
  return new AgentosError({ code: 'agent-missing', agent: name, program, install });
}

/** Null: no vendor has a key, and none is known to be needed. */
function endpointFor({ vendor, text }: AgentSpec, { endpointOf }: AgentWriterOptions): string | null {
  const endpoints = (vendor === null ? VENDORS : [vendor]).map(endpointOf);
  const endpoint = endpoints.find((each) => each !== undefined);
  if (endpoint !== undefined) return endpoint;
  if (vendor === null) return null;
  throw new AgentosError({
    code: 'internal',
    detail: `the gateway has no endpoint for ${text}`,
  });
}
