import { existsSync } from 'node:fs';
import { createWriter } from '../agent/create.ts';
import type { Writer } from '../agent/port.ts';
import type { TestSettings } from '../core/config.ts';
import { parseItemId } from '../core/ids.ts';
import { boundedLines } from '../core/lines.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import type { WorkflowName } from '../core/paths.ts';
import { itemEnvironment } from '../git/item-environment.ts';
import { requireIdentity } from '../git/repository.ts';
import { makeOwnFolder, removeFolder } from '../process/files.ts';
import { prepareWorkFolder } from '../process/state-folder.ts';
import { tracedTests, tracedWriter } from '../telemetry/traced.ts';
import { detectTests } from '../testing/detect.ts';
import type { TestSuite } from '../testing/port.ts';
import { noSuite } from '../testing/suite.ts';
import type { ImplementParts } from '../workflow/implement-item.ts';
import type { Adapters } from './adapters.ts';
import { ownLogins } from './item-programs.ts';
import type { TaskContext } from './protocol.ts';

/** What an item needs whose files change in a worktree: who writes there, and the tests that run there. */
interface WorktreeTask extends Pick<ImplementParts, 'config' | 'git' | 'env' | 'itemEnv' | 'sandbox' | 'onGroup'> {
  writer(): Writer;
  /** Opens the suite that is for these files; null: nothing is known about its tests. */
  openSuite(settings: TestSettings | null, paths: readonly string[]): Promise<TestSuite>;
  /** What agents and package managers left is of no use without the worktree. */
  removeHome(): Promise<void>;
}

export async function openWorktreeTask(
  workflow: WorkflowName,
  adapters: Adapters,
  context: TaskContext,
): Promise<WorktreeTask> {
  const { input, paths, git, env, sandbox, mask, token, limits, transcripts, costOf } = adapters;
  const { config } = input;
  const id = parseItemId(input.id);
  await requireIdentity(git);
  await prepareWorkFolder(paths);
  const directory = paths.worktree(workflow, id);
  const home = paths.home(workflow, id);
  const { caches } = paths;
  const itemEnv = await itemEnvironment({
    env: process.env,
    home,
    caches,
    worktree: directory,
    pass: config.passEnvironment,
    keys: [],
    git,
  });
  return {
    config,
    git,
    env,
    itemEnv,
    sandbox,
    onGroup: context.group,
    writer: () =>
      tracedWriter(
        createWriter(parseModelSpec(config.models.implementer), {
          ...limits,
          token,
          endpointOf: (vendor) => input.endpoints[vendor],
          env: itemEnv,
          sandbox,
          home,
          caches,
          maxRounds: config.implement.maxAgentRounds,
          costOf,
          ownLogins: ownLogins(config.ownLogins, paths),
          onGroup: context.group,
          mask,
          transcripts,
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
        scratch: await makeOwnFolder(home, 'test-reports'),
        onLine: boundedLines((line) =>
          context.emit({ type: 'output-line', stream: 'stdout', line: mask(line), of: 'tests' }),
        ),
        mask,
        onProgress: context.heartbeat,
        onGroup: context.group,
      });
      return tracedTests(suite);
    },
    async removeHome() {
      if (!existsSync(directory)) await removeFolder(home, paths.work).catch(() => undefined);
    },
  };
}

/** The recorded tour, loaded only where it is played. */
function offlineWriter(): Writer {
  return {
    spec: 'offline',
    isModel: false,
    writesByItself: false,
    write: async (request) => (await import('../offline/writer.ts')).createOfflineWriter().write(request),
  };
}
