import { oneLine, unlinked } from '../../core/lines.ts';

export interface CommitFacts {
  subject: string;
  body: string;
  /** The models that wrote the change. */
  models: Iterable<string>;
  /** `Name <address>`; null: none. */
  coAuthor: string | null;
}

/**
 * Subject, body and trailers. Titles and names of models are one line each, so they can't add trailers. A title from outside
 * notifies nobody and closes no issue.
 */
export function commitMessage({ subject, body, models, coAuthor }: CommitFacts): string {
  const trailers = [...models].map((model) => `Implemented-by: ${oneLine(model)}`);
  if (coAuthor !== null) trailers.push(`Co-authored-by: ${oneLine(coAuthor)}`);
  return `${unlinked(oneLine(subject))}\n\n${body}\n\n${trailers.join('\n')}\n`;
}
