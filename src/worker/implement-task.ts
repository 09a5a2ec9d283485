import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import { shownPath } from '../core/paths.ts';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { readLldText } from '../workflow/approved-lld.ts';
import { runImplement } from '../workflow/implement.ts';
import { itemTask } from './adapters.ts';
import { openWorktreeTask } from './worktree-task.ts';

export const implementTask = itemTask('implement', async (adapters, context) => {
  const { input, paths } = adapters;
  const id = parseItemId(input.id);
  const lldText = readLldText(paths.lld(id)) ?? '';
  if (input.digest !== undefined && sha256(lldText) !== input.digest)
    throw new AgentosError({ code: 'lld-changed', id, path: shownPath(paths.repository, paths.lld(id)) });
  const hash = bodyHash(readFrontMatter(lldText).body);
  const { title, files } = designFacts(lldText);
  const item = await adapters.start({ id, title, hash });
  const task = await openWorktreeTask('implement', adapters, context);
  const result = await runImplement(item, {
    ...task,
    lldText,
    writer: task.writer(),
    contextFor: (commit, asked) => adapters.repositoryContext(commit, asked),
    openSuite: (settings) => task.openSuite(settings, files),
  });
  await task.removeHome();
  return result;
});
