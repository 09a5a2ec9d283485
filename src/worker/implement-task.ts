import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createWriter } from '../agent/create.ts';
import type { Writer } from '../agent/port.ts';
import { parseItemId } from '../core/ids.ts';
import { boundedLines } from '../core/lines.ts';
import { parseModelSpec } from '../core/model-spec.ts';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { itemEnvironment } from '../git/item-environment.ts';
import { requireIdentity } from '../git/repository.ts';
import { makeOwnFolder, removeFolder } from '../process/files.ts';
import { prepareWorkFolder } from '../process/state-folder.ts';
import { tracedTests, tracedWriter } from '../telemetry/traced.ts';
import { detectTests } from '../testing/detect.ts';
import { noSuite } from '../testing/suite.ts';
import { runImplement } from '../workflow/implement.ts';
import { itemTask } from './adapters.ts';
import { ownLogins } from './item-programs.ts';

export const implementTask = itemTask('implement', async (adapters, context) => {
  const { input, paths, git, env, sandbox, mask, token, limits, transcripts, costOf } = adapters;
  const { config } = input;
  const id = parseItemId(input.id);
  const lldText = await readFile(paths.lld(id), 'utf8');
  const hash = bodyHash(readFrontMatter(lldText).body);
  const item = await adapters.start({ id, title: designFacts(lldText).title, hash });
  await requireIdentity(git);

  await prepareWorkFolder(paths);
  const directory = paths.worktree('implement', id);
  const home = paths.home('implement', id);
  const itemEnv = await itemEnvironment({
    env: process.env,
    home,
    caches: paths.caches,
    worktree: directory,
    pass: config.passEnvironment,
    keys: [],
    git,
  });
  const writer = createWriter(parseModelSpec(config.models.implementer), {
    ...limits,
    token,
    endpointOf: (vendor) => input.endpoints[vendor],
    env: itemEnv,
    sandbox,
    home,
    caches: paths.caches,
    maxRounds: config.implement.maxAgentRounds,
    costOf,
    ownLogins: ownLogins(config.ownLogins, paths),
    onGroup: context.group,
    mask,
    transcripts,
    offline: offlineWriter,
  });
  const result = await runImplement(item, {
    lldText,
    writer: tracedWriter(writer),
    config,
    git,
    env,
    itemEnv,
    sandbox,
    onGroup: context.group,
    contextFor: (commit, asked) => adapters.repositoryContext(commit, asked),
    openSuite: async (settings) => {
      if (settings === null) return noSuite(config.tests.files);
      const suite = await detectTests({
        directory,
        settings,
        paths: designFacts(lldText).files,
        env: itemEnv,
        sandbox,
        scratch: await makeOwnFolder(home, 'test-reports'),
        onLine: boundedLines((line) =>
          context.emit({ type: 'output-line', stream: 'stdout', line: mask(line), of: 'tests' }),
        ),
        onProgress: context.heartbeat,
        onGroup: context.group,
      });
      return tracedTests(suite);
    },
  });
  // What agents and package managers left in it is of no use without the worktree.
  if (!existsSync(directory)) await removeFolder(home).catch(() => undefined);
  return result;
});

/** The recorded tour, loaded only where it is played. */
function offlineWriter(): Writer {
  return {
    spec: 'offline',
    isModel: false,
    writesByItself: false,
    write: async (request) => (await import('../offline/writer.ts')).createOfflineWriter().write(request),
  };
}
