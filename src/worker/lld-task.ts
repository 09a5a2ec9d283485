import { parseItemId } from '../core/ids.ts';
import { createDirectorySource } from '../source/directory.ts';
import { runLld } from '../workflow/lld.ts';
import { documentAdapters, tellStarted } from './document-adapters.ts';
import type { ItemInput } from './item-input.ts';
import type { Task } from './task.ts';

/** The LLD workflow as a task: where the adapters of one item are chosen and put together. */
export const lldTask: Task = async (context) => {
  const input = context.input as ItemInput;
  const adapters = await documentAdapters(context, input);
  const issue = await createDirectorySource(adapters.paths.issues).read(parseItemId(input.id));
  tellStarted(context, issue);
  return runLld({ ...adapters, issue });
};
