import { readFile } from 'node:fs/promises';
import { parseItemId } from '../core/ids.ts';
import { bodyHash, readFrontMatter } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { runImplement } from '../workflow/implement.ts';
import { itemTask } from './adapters.ts';
import { openWorktreeTask } from './worktree-task.ts';

export const implementTask = itemTask('implement', async (adapters, context) => {
  const id = parseItemId(adapters.input.id);
  const lldText = await readFile(adapters.paths.lld(id), 'utf8');
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
