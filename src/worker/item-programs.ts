import { dirname, relative } from 'node:path';
import type { OwnLogins } from '../agent/programs/own-login.ts';
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
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import { prepareWorkFolder } from '../process/state-folder.ts';
import { createCheckoutGuard, NO_GUARD } from '../workflow/checkout-guard.ts';
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
  sandbox: OpenSandbox | undefined;
  token: Secret;
  limits: CallLimits;
  mask: (text: string) => string;
  transcripts: OpenTranscript;
}

interface ItemPrograms extends Pick<ItemParts, 'checkout' | 'reading'> {
  agent: (spec: AgentSpec) => Provider;
  close(): Promise<void>;
}

export function ownLogins(agents: readonly AgentName[], { base, work, locks }: Paths): OwnLogins {
  // Beside the places of all repositories, where there is such a folder.
  return { agents, locks: work === base ? locks : dirname(work) };
}

/** What an item needs for models that are programs. Most have none: all of it is loaded and made when it is first used. */
export function createItemPrograms(parts: ProgramParts): ItemPrograms {
  const { context, workflow, input, paths, git, env, sandbox, token, limits, mask, transcripts } = parts;
  const { emit } = context;
  const id = parseItemId(input.id);
  const worktree = paths.worktree(workflow, id);
  const home = paths.home(workflow, id);
  const hasWorktree = workflow === 'implement' || workflow === 'land';
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
    checkout:
      sandbox === undefined
        ? createCheckoutGuard({
            verify: () => context.journal.check?.(),
            look: () => lookOutside({ repository: paths.repository, base: paths.base, worktree, git, except }),
            worktree: hasWorktree ? worktree : null,
            onChanged: (files) =>
              emit({ type: 'notice', text: `changed in the checkout meanwhile, and left so: ${listed(files)}` }),
          })
        : NO_GUARD,
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
          ownLogins: ownLogins(input.config.ownLogins, paths),
          sandbox,
          envIn: (directory) => itemEnvironment({ ...own, worktree: directory, isSetUp: false }),
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
      // Of agents that answered; what works in a worktree needs its own longer.
      if (opened !== null && !hasWorktree) await removeFolder(home, paths.work).catch(() => undefined);
    },
  };
}
