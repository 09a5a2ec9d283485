/** An issue of the usual size that passes every check. */
export const SAMPLE_ISSUE = `# Retry calls that met a quota

## User Story
As a maintainer who runs a long batch, I want calls that met a quota to be tried again, so that a batch ends without me.

## Objective
A call that a vendor refused for quota is made again after the time that the vendor names. A batch ends without being
started a second time.

## Scenarios of Use
- **S1 – Quota comes back:** Given a vendor that answers 429 once, when a batch runs, then the item succeeds.
- **S2 – Quota stays away:** Given a vendor that answers 429 every time, when a batch runs, then the item ends as paused.

## Requirements
1. A call that was answered with 429 is made again after the time in \`Retry-After\`.
2. After 5 refusals in a row the item ends with the status \`paused\`.

## Acceptance Criteria
- [ ] With one 429 and \`Retry-After: 1\`, the vendor sees 2 calls and the exit code is 0. (S1, R1)
- [ ] With 429 for ever, the vendor sees 6 calls and the exit code is 75. (S2, R2)

## Out of Scope
- Choosing another vendor when one has no quota left.

## Definition of Done
- [ ] Every acceptance criterion has a test that names it, and it passes
- [ ] The guide on quotas says how long a call waits

## Open Questions
None.
`;

/** The sample with one passage replaced; a passage that is not there is a mistake of the test. */
export function editedIssue(passage: string, replacement: string, text = SAMPLE_ISSUE): string {
  if (!text.includes(passage)) throw new Error(`the sample has no "${passage}"`);
  return text.replace(passage, replacement);
}

/** The sample with the content of one section replaced. */
export function issueWithSection(title: string, content: string, text = SAMPLE_ISSUE): string {
  const start = text.indexOf(`## ${title}\n`);
  if (start === -1) throw new Error(`the sample has no section "${title}"`);
  const next = text.indexOf('\n## ', start);
  const end = next === -1 ? text.length : next;
  return `${text.slice(0, start)}## ${title}\n${content}\n${text.slice(end)}`;
}
