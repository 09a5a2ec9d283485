/** How an item of the tour ends, and what to say about it. */
export interface RecordedEnd {
  status: string;
  told: string;
}

/** What was recorded. Anything else means that the tour, or the program, is broken. */
export const RECORDED_DESIGNS: Record<string, RecordedEnd> = {
  '7': { status: 'succeeded', told: 'the reviewer asked for a change, the draft was revised, then approved' },
  '12': { status: 'discuss', told: 'the reviewer found a decision that only a person can take' },
  '21': { status: 'succeeded', told: 'approved at once' },
};

/** 12 is not among them: without an approved design there is nothing to build. */
export const RECORDED_CODE: Record<string, RecordedEnd> = {
  '7': {
    status: 'succeeded',
    told: 'one of its first tests passed without any code; it was refused and fixed, and then the code was written',
  },
  '21': {
    status: 'succeeded',
    told: 'straight through; not at the same time as 7, because both change src/index.js and README.md',
  },
};

export const CODE_TITLE = 'The two approved designs become tested branches';
export const CODE_INTRODUCTION = [
  'What is written is recorded; that the tests fail without the code, pass with it, and fail again when it is taken out',
  'is seen here, on this machine, by running them. 12 is skipped: it waits for a person.',
];

export function wentAsRecorded(
  recorded: Record<string, RecordedEnd>,
  items: readonly { id: string; status: string }[],
): boolean {
  return (
    items.length === Object.keys(recorded).length && items.every(({ id, status }) => recorded[id]?.status === status)
  );
}

/** Commands that show what the second half has made; `git` is how git is called on the sample repository. */
export function codeToLookAt(git: string, branch: string): [command: string, told: string][] {
  return [
    [`${git} log --stat main..${branch}`, 'the tests, the code and the report, each a commit of its own'],
    [`${git} show ${branch}:docs/reports/7.md`, 'each gate with what it saw, the coverage and the review'],
  ];
}
