import { existsSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { boundedLines, listed } from '../core/lines.ts';
import type { AgentSpec } from '../core/model-spec.ts';
import { lookOutside } from '../git/checkout-watch.ts';
import type { ReadingWorktree } from '../git/worktree/reading.ts';
import type { Provider } from '../models/port.ts';
import { removeFolder } from '../process/files.ts';
import { prepareWorkFolder } from '../process/state-folder.ts';
import { createCheckoutGuard, NO_GUARD } from '../workflow/checkout-guard.ts';
import type { ItemParts } from '../workflow/item.ts';
import type { ItemTools } from './adapters.ts';

/** For models that are programs. Most items have none: all of it is loaded on first use. */
export interface ItemPrograms extends Pick<ItemParts, 'checkout' | 'reading'> {
  agent: (spec: AgentSpec) => Provider;
  close(): Promise<void>;
}

export function createItemPrograms(tools: ItemTools): ItemPrograms {
  const { task, workflow, id, input, paths, git, env, sandbox, mask, calling } = tools;
  const { emit } = task;
  const worktree = paths.worktree(workflow, id);
  const home = paths.home(workflow, id);
  const hasWorktree = workflow === 'implement' || workflow === 'land' || workflow === 'react';
  let opened: Promise<ReadingWorktree> | null = null;
  const open = async (): Promise<ReadingWorktree> => {
    await prepareWorkFolder(paths);
    const { createReadingWorktree } = await import('../git/worktree/reading.ts');
    const onChanged = (files: string[]): void =>
      emit({ type: 'notice', text: `a model may only read; its changes are discarded: ${listed(files)}` });
    return createReadingWorktree({ repository: git, paths, env, onChanged });
  };
  // Other items write to these folders at the same time.
  const shared = [dirname(paths.lineage(id)), ...(workflow === 'issue' ? [paths.issues] : [])];
  const except = shared.map((folder) => relative(paths.repository, folder));
  return {
    checkout:
      sandbox === undefined
        ? createCheckoutGuard({
            verify: () => task.journal.check(),
            look: () => lookOutside({ repository: paths.repository, base: paths.base, worktree, git, except }),
            events: paths.run(input.runId).events,
            worktree: hasWorktree ? worktree : null,
            onChanged: (files) =>
              emit({ type: 'notice', text: `changed in the checkout meanwhile, and not reverted: ${listed(files)}` }),
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
        const { createAgentProvider } = await import('../agent/programs/call.ts');
        const { itemEnvironment } = await import('../git/item-environment.ts');
        const { caches } = paths;
        const own = { env: process.env, home, caches, pass: input.config.passEnvironment, keys: [], git };
        const onLine = boundedLines((line) => emit({ type: 'output-line', stream: 'stdout', line: mask(line) }));
        const envIn = (directory: string) => itemEnvironment({ ...own, worktree: directory, isSetUp: false });
        return createAgentProvider(spec, calling, envIn, onLine).complete(request);
      },
    }),
    async close() {
      (await opened?.catch(() => null))?.release();
      // The home holds files of agents and package managers, which are useless without the worktree.
      const isUseless = hasWorktree ? !existsSync(worktree) : opened !== null;
      if (isUseless) await removeFolder(home, paths.work).catch(() => undefined);
    },
  };
}
