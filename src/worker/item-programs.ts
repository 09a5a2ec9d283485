import { dirname, join, relative } from 'node:path';
import type { OwnLogin } from '../agent/create.ts';
import type { OpenTranscript } from '../agent/transcript.ts';
import { parseItemId } from '../core/ids.ts';
import { boundedLines, listed } from '../core/lines.ts';
import type { AgentName, AgentSpec } from '../core/model-spec.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { Secret } from '../core/secret.ts';
import { lookOutside } from '../git/checkout-watch.ts';
import type { Git } from '../git/git.ts';
import type { ReadingWorktree } from '../git/worktree/reading.ts';
import type { CallLimits } from '../models/call-bounds.ts';
import type { Provider } from '../models/port.ts';
import { removeFolder } from '../process/files.ts';
import { prepareWorkFolder } from '../process/state-folder.ts';
import { createCheckoutGuard } from '../workflow/checkout-guard.ts';
import type { ItemParts } from '../workflow/item.ts';
import type { ItemInput } from './adapters.ts';
import type { TaskContext } from './protocol.ts';

interface ProgramParts {
  context: TaskContext;
  workflow: WorkflowName;
  input: ItemInput;
  paths: Paths;
  git: Git;
  /** For git itself. */
  env: Record<string, string>;
  token: Secret;
  limits: CallLimits;
  mask: (text: string) => string;
  transcripts: OpenTranscript;
}

interface ItemPrograms extends Pick<ItemParts, 'checkout' | 'reading'> {
  agent: (spec: AgentSpec) => Provider;
  close(): Promise<void>;
}

/** Where an agent keeps its login: in the home of the person, or where the person moved it. */
const LOGIN_VARIABLES = [
  'HOME USERPROFILE XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME',
  'CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME OPENCODE_CONFIG_DIR DBUS_SESSION_BUS_ADDRESS',
].flatMap((names) => names.split(' '));

export function ownLogin(agents: readonly AgentName[], paths: Paths): OwnLogin {
  return {
    agents,
    // A variable that the person has not set must not be ours.
    env: Object.fromEntries(LOGIN_VARIABLES.map((name) => [name, process.env[name]])),
    lockOf: (agent) => join(paths.locks, `login-${agent}.lock`),
  };
}

/** What an item needs for models that are programs. Most have none: all of it is loaded and made when it is first used. */
export function createItemPrograms(parts: ProgramParts): ItemPrograms {
  const { context, workflow, input, paths, git, env, token, limits, mask, transcripts } = parts;
  const { emit } = context;
  const id = parseItemId(input.id);
  const worktree = paths.worktree(workflow, id);
  const home = paths.home(workflow, id);
  let opened: Promise<ReadingWorktree> | null = null;
  const open = async (): Promise<ReadingWorktree> => {
    await prepareWorkFolder(paths);
    const { createReadingWorktree } = await import('../git/worktree/reading.ts');
    const onChanged = (files: string[]): void =>
      emit({ type: 'notice', text: `a model may only read; what it changed is thrown away: ${listed(files)}` });
    return createReadingWorktree({ repository: git, paths, env, onChanged });
  };
  // Other items write there at the same time.
  const shared = [dirname(paths.lineage(id)), ...(workflow === 'issue' ? [paths.issues] : [])];
  const except = shared.map((folder) => relative(paths.repository, folder));
  return {
    checkout: createCheckoutGuard({
      look: () => lookOutside({ repository: paths.repository, base: paths.base, worktree, git, except }),
      worktree: workflow === 'implement' ? worktree : null,
      onChanged: (files) =>
        emit({ type: 'notice', text: `changed in the checkout meanwhile, and left so: ${listed(files)}` }),
    }),
    reading: {
      async use(state, work) {
        opened ??= open();
        return (await opened).use(state, work);
      },
    },
    agent: (spec) => ({
      spec: spec.text,
      isModel: true,
      async complete(request) {
        const { createAgentProvider } = await import('../agent/programs/writer.ts');
        const { itemEnvironment } = await import('../git/item-environment.ts');
        const { caches } = paths;
        const own = { env: process.env, home, caches, pass: input.config.passEnvironment, keys: [], git };
        const agent = createAgentProvider(spec, {
          ...limits,
          token,
          endpointOf: (vendor) => input.endpoints[vendor],
          home,
          caches,
          ownLogin: ownLogin(input.config.ownLogins, paths),
          envIn: (directory) => itemEnvironment({ ...own, worktree: directory }),
          onGroup: context.group,
          mask,
          transcripts,
          onLine: boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) })),
        });
        return agent.complete(request);
      },
    }),
    async close() {
      (await opened?.catch(() => null))?.release();
      // Of agents that answered; an implementation needs its own longer.
      if (opened !== null && workflow !== 'implement') await removeFolder(home).catch(() => undefined);
    },
  };
}
