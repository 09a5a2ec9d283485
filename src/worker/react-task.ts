import { parseItemId } from '../core/ids.ts';
import { reactionKey } from '../core/reaction.ts';
import { readFrontMatter } from '../documents/header.ts';
import { designFacts } from '../documents/lld/document.ts';
import { designOn } from '../workflow/finished-branches.ts';
import { runReact } from '../workflow/react.ts';
import { itemTask } from './adapters.ts';
import { openWorktreeTask } from './worktree-task.ts';

export const reactTask = itemTask('react', async (adapters, context) => {
  const { reaction } = adapters.input;
  if (reaction === undefined) throw new TypeError('a reaction to nothing');
  const id = parseItemId(adapters.input.id);
  const lldText = readFrontMatter(await designOn(adapters.git, adapters.paths, id, reaction.head)).body;
  const { title, files } = designFacts(lldText);
  const item = await adapters.start({ id, title, hash: reactionKey(reaction) });
  const task = await openWorktreeTask('react', adapters, context);
  const { reaction: made, ...result } = await runReact(item, {
    ...task,
    lldText,
    reaction,
    writer: task.writer(),
    openSuite: (settings) => task.openSuite(settings, files),
  });
  await task.removeHome();
  // Until it is pushed and answered it may have to be done again, which costs nothing then.
  return { ...result, keepsCheckpoint: true, ...(made === null ? {} : { reaction: made }) };
});
