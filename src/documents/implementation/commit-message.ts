import { oneLine, unlinked } from '../../core/lines.ts';

/** What a commit of an item says. */
export interface CommitFacts {
  subject: string;
  body: string;
  /** Who wrote what is in it: the models as they answered, or as they were asked for. */
  models: Iterable<string>;
  /** `Name <address>`; null: none. */
  coAuthor: string | null;
}

/**
 * Subject, body and trailers. Titles and names of models are one line each, so that none can add a trailer of its own. A title
 * may come from outside: it neither notifies people nor closes issues where the commit is pushed.
 */
export function commitMessage({ subject, body, models, coAuthor }: CommitFacts): string {
  const trailers = [...models].map((model) => `Implemented-by: ${oneLine(model)}`);
  if (coAuthor !== null) trailers.push(`Co-authored-by: ${oneLine(coAuthor)}`);
  return `${unlinked(oneLine(subject))}\n\n${body}\n\n${trailers.join('\n')}\n`;
}
