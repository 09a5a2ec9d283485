import { oneLine, unlinked } from '../../core/lines.ts';
import { asCode, asText } from '../../markdown/writer.ts';

interface LandedPart {
  id: string;
  title: string;
  /** Why it was left out; null if it is in. */
  reason: string | null;
  /** `Closes #12`; null if it closes nothing. */
  closing: string | null;
  /** Its own pull request. */
  request: string | null;
}

/** For the reviewer of a landing: what it closes, what is in, and what is out. */
export function landingBody(parts: readonly LandedPart[]): string {
  const inside = parts.filter(({ reason }) => reason === null);
  const outside = parts.filter(({ reason }) => reason !== null);
  const closings = inside.flatMap(({ closing }) => closing ?? []);
  const lines = (some: readonly LandedPart[]): string =>
    some
      .map(({ id, title, request, reason }) => {
        const own = request === null ? '' : ` (${request})`;
        return `- ${asCode(id)} ${words(title)}${own}${reason === null ? '' : `: ${words(reason)}`}`;
      })
      .join('\n');
  const sections = [
    ...(closings.length === 0 ? [] : [closings.join('\n')]),
    `The suite was run on all of these together. Merging this merges each of them.\n\n## In\n\n${lines(inside)}`,
    ...(outside.length === 0 ? [] : [`## Out\n\n${lines(outside)}`]),
  ];
  return `${sections.join('\n\n')}\n`;
}

function words(text: string): string {
  return unlinked(asText(oneLine(text), 300));
}
