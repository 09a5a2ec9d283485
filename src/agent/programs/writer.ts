import { LONGEST_MS } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import type { VendorName } from '../../core/keys.ts';
import { MASK } from '../../core/mask.ts';
import { type AgentSpec, vendorOf } from '../../core/model-spec.ts';
import type { Secret } from '../../core/secret.ts';
import { type CallLimits, withinBounds } from '../../models/call-bounds.ts';
import { detailOf } from '../../models/detail.ts';
import { makeFolder } from '../../process/files.ts';
import { findProgram, type ProgramEnd } from '../../process/program.ts';
import { runTaggedProgram } from '../../process/remains.ts';
import type { WriteReply, WriteRequest, Writer } from '../port.ts';
import type { Agent, AgentStart, EventReader } from './agent.ts';
import { AGENTS } from './agents.ts';
import { createAccountReader, newRefusal, usedBetween, watchGateway } from './gateway-account.ts';
import { createJsonLines } from './json-lines.ts';

export interface AgentWriterOptions extends CallLimits {
  spec: AgentSpec;
  /** All that the agent sees of the environment; it is looked for on the PATH in it. */
  env: Readonly<Record<string, string>>;
  /** The item's own. */
  home: string;
  /** Of package managers and compilers, shared by the items; agents with a sandbox may write there. */
  caches?: string | undefined;
  /** The gateway's, for a vendor. */
  endpointOf: (vendor: VendorName) => string | undefined;
  /** The item's token for the gateway. */
  token: Secret;
  /** Called with the process group of a call, so that another process can end it should this one die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  /** Marks what a call started. */
  tagVariable: string;
  mask: (text: string) => string;
}

const TRY_OUT_MS = 30_000;
const KEPT_LINES = 20;

/** A command-line agent in the worktree. All its calls go through the gateway, which knows what they used and cost. */
export function createAgentWriter(options: AgentWriterOptions): Writer {
  const { spec, idleTimeoutMs, ceilingMs } = options;
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: true,
    write: (request) =>
      withinBounds({ what: spec.text, limits: { idleTimeoutMs, ceilingMs }, signal: request.signal }, (call) =>
        write(options, request, call),
      ),
  };
}

async function write(
  options: AgentWriterOptions,
  request: WriteRequest,
  call: { signal: AbortSignal; alive: () => void },
): Promise<WriteReply> {
  const { spec, home, caches, env, tagVariable, onGroup, idleTimeoutMs, ceilingMs } = options;
  const agent = AGENTS[spec.provider];
  const token = options.token.reveal();
  const endpoint = endpointFor(options);
  const file = await findProgram(agent.program, env['PATH']);
  if (file === null) throw missing(agent);
  const alive = (): void => {
    call.alive();
    request.onProgress();
  };
  const mask = (text: string): string => options.mask(token === '' ? text : text.replaceAll(token, MASK));
  const run = (
    { args, env: added, input }: AgentStart,
    onLine: (line: string, stream: 'stdout' | 'stderr') => void,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<ProgramEnd> =>
    runTaggedProgram({
      command: [file, ...args],
      cwd: request.worktree,
      env: { ...env, HOME: home, ...added },
      input,
      onLine,
      onProgress: alive,
      onGroup,
      tagVariable,
      signal,
      timeoutMs,
      keepBytes: 0,
    });

  await makeFolder(home);
  const start = await agent.prepare({
    model: spec.model,
    system: request.system,
    task: request.task,
    worktree: request.worktree,
    home,
    caches,
    env,
    endpoint,
    token,
    ceilingMs,
    tryOut: (args, added) =>
      run({ args: [...args], env: { ...added }, input: '' }, () => undefined, {
        signal: call.signal,
        timeoutMs: TRY_OUT_MS,
      }),
  });
  for (const note of start.notes ?? []) request.onLine(note);

  const account = createAccountReader(endpoint, token);
  const before = await account.settled(call.signal);
  const reader = agent.createReader();
  const listener = createListener(reader, (line) => request.onLine(mask(line)), request.worktree);
  const hopeless = new AbortController();
  const stopWatching = watchGateway({
    idleTimeoutMs,
    read: () => account.read(call.signal),
    before,
    onBusy: alive,
    onHopeless: (error) => hopeless.abort(error),
  });
  const signal = AbortSignal.any([call.signal, hopeless.signal]);
  const end = await run(start, listener.onLine, { signal, timeoutMs: LONGEST_MS }).finally(stopWatching);
  listener.end();
  const after = await account.settled(call.signal);
  if (end.exitCode !== 0 || reader.verdict?.is !== 'done') {
    throw newRefusal(before, after) ?? failed(agent, end, reader, listener, mask);
  }
  const answered = after.calls > before.calls ? after.answered : null;
  return { text: mask(reader.lastWords.trim()), answered, metered: true, ...usedBetween(before, after) };
}

interface Listener {
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  end: () => void;
  /** Whether it said anything in the form that it was asked for. */
  readonly began: boolean;
  /** The last of what it said otherwise. */
  readonly stray: readonly string[];
}

function createListener(reader: EventReader, log: (line: string) => void, worktree: string): Listener {
  const stray: string[] = [];
  let began = false;
  const onText = (line: string): void => {
    log(line);
    if (line.trim() !== '') stray.push(line);
    if (stray.length > KEPT_LINES) stray.shift();
  };
  const lines = createJsonLines((event) => {
    began = true;
    for (const line of reader.read(event)) log(line.replaceAll(`${worktree}/`, ''));
  }, onText);
  return {
    stray,
    get began() {
      return began;
    },
    onLine: (line, stream) => (stream === 'stdout' ? lines.push(line) : onText(line)),
    end: () => lines.end(),
  };
}

function failed(
  agent: Agent,
  { exitCode, signal, missing: neverRan }: ProgramEnd,
  { verdict }: EventReader,
  { began, stray }: Listener,
  mask: (text: string) => string,
): AgentosError {
  if (neverRan) return missing(agent);
  const silent = exitCode === 0 && verdict === null ? 'it ended without a result; ' : '';
  const why = verdict?.is === 'failed' ? verdict.why : `${silent}${stray.join(' ').slice(-300)}`;
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

function endpointFor({ spec, endpointOf }: AgentWriterOptions): string {
  const vendor = vendorOf(spec);
  const endpoint = vendor === null ? undefined : endpointOf(vendor);
  if (endpoint !== undefined) return endpoint;
  throw new AgentosError({
    code: 'internal',
    detail: `the gateway has no endpoint for ${spec.text}`,
  });
}
