import { join } from 'node:path';
import { createWriter } from '../agent/create.ts';
import type { Writer } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines } from '../core/lines.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import { shownPath } from '../core/paths.ts';
import { reactionKey } from '../core/reaction.ts';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { itemEnvironment } from '../git/item-environment.ts';
import { requireIdentity } from '../git/repository.ts';
import { prepareWorkFolder } from '../process/state-folder.ts';
import { tracedTests, tracedWriter } from '../telemetry/traced.ts';
import { detectTests } from '../testing/detect.ts';
import { noSuite } from '../testing/suite.ts';
import { readLldText } from '../workflow/approved-documents.ts';
import { type ImplementParts, runImplement } from '../workflow/implement.ts';
import { designOn } from '../workflow/implementations.ts';
import { runLand } from '../workflow/land.ts';
import { runReact } from '../workflow/react.ts';
import type { WorktreeParts } from '../workflow/worktree-item.ts';
import { type Adapters, itemTask } from './adapters.ts';

export const implementTask = itemTask('implement', async (adapters) => {
  const { input, paths, id } = adapters;
  const lldText = readLldText(paths.lld(id)) ?? '';
  if (input.digest !== undefined && sha256(lldText) !== input.digest)
    throw new AgentosError({ code: 'lld-changed', id, path: shownPath(paths.repository, paths.lld(id)) });
  const hash = bodyHash(readFrontMatter(lldText).body);
  const item = await adapters.start({ title: designFacts(lldText).title, hash });
  const contextFor: ImplementParts['contextFor'] = (commit, asked) => adapters.repositoryContext(commit, asked);
  return runImplement(item, { ...(await worktreeParts(adapters)), lldText, contextFor });
});

export const landTask = itemTask('land', async (adapters) => {
  const { landing } = adapters.input;
  if (landing === undefined) throw new TypeError('a landing without branches');
  const ids = landing.branches.map((branch) => branch.id);
  const hash = sha256(JSON.stringify(landing));
  const item = await adapters.start({ title: `${ids.join(', ')} onto ${landing.onto}`, hash });
  const result = await runLand(item, { ...(await worktreeParts(adapters)), landing });
  // A landing on another base can use what was paid for.
  const isPaid = item.journal.steps().some(({ name }) => name.startsWith('settled-'));
  return { ...result, keepsCheckpoint: isPaid };
});

export const reactTask = itemTask('react', async (adapters) => {
  const { input, id } = adapters;
  const { reaction } = input;
  if (reaction === undefined) throw new TypeError('a reaction to nothing');
  const lldText = readFrontMatter(await designOn(adapters, id, reaction.head)).body;
  const item = await adapters.start({ title: designFacts(lldText).title, hash: reactionKey(reaction) });
  const result = await runReact(item, { ...(await worktreeParts(adapters)), lldText, reaction });
  // If the push or an answer fails, the item is replayed from its checkpoint.
  return { ...result, keepsCheckpoint: true };
});

async function worktreeParts(adapters: Adapters): Promise<WorktreeParts> {
  const { task, workflow, id, input, paths, git, env, sandbox, mask, calling, costOf } = adapters;
  const { config } = input;
  await requireIdentity(git);
  await prepareWorkFolder(paths);
  const directory = paths.worktree(workflow, id);
  const home = paths.home(workflow, id);
  const { caches } = paths;
  const pass = config.passEnvironment;
  const itemEnv = await itemEnvironment({ env: process.env, home, caches, worktree: directory, pass, keys: [], git });
  return {
    config,
    git,
    env,
    itemEnv,
    sandbox,
    onGroup: task.group,
    writer: tracedWriter(
      createWriter(parseModelSpec(config.models.implementer), {
        ...calling,
        env: itemEnv,
        maxRounds: config.implement.maxAgentRounds,
        costOf,
        offline: offlineWriter,
      }),
    ),
    async openSuite(settings, files) {
      if (settings === null) return noSuite(config.tests.files);
      const suite = await detectTests({
        directory,
        settings,
        paths: files,
        env: itemEnv,
        sandbox,
        scratch: join(home, 'test-reports'),
        onLine: boundedLines((line) =>
          task.emit({ type: 'output-line', stream: 'stdout', line: mask(line), of: 'tests' }),
        ),
        mask,
        onProgress: task.heartbeat,
        onGroup: task.group,
      });
      return tracedTests(suite);
    },
  };
}

/** The module of the recorded tour is loaded only if it is played. */
function offlineWriter(): Writer {
  return {
    spec: 'offline',
    isModel: false,
    writesByItself: false,
    write: async (request) => (await import('../offline/tour.ts')).createOfflineWriter().write(request),
  };
}
