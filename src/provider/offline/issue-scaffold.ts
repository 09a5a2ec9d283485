import { inline } from './inline.ts';
import type { IssueReading } from './issue-reading.ts';
import { createScaffoldWriter, type Place, type Scaffold, type ScaffoldWriter } from './scaffold-writer.ts';

/** Everything that an issue is put together from. */
export interface BriefContent extends IssueReading {
  title: string;
}

const SHORT = 90;
const STORY = /^as (?:an?|the) \S[^]*\bI (?:want|need|would like)\b/i;

/** The issue in our template's form, in the brief's own words. */
export function renderIssueScaffold(content: BriefContent, withheld: ReadonlySet<Place>): Scaffold {
  const writer = createScaffoldWriter(withheld, 'Brief');
  const { add } = writer;
  writeIntent(writer, content);
  writeEntries(writer, content);
  add(
    '',
    '## Out of Scope',
    '- Everything that the brief does not ask for.',
    '',
    '## Definition of Done',
    '- [ ] Every acceptance criterion has a test that names it, and it passes',
    '- [ ] The tests that were there before pass',
  );
  writeQuestions(writer, content);
  add('');
  return writer.finish();
}

function writeIntent({ add, place, quote, quotationHere }: ScaffoldWriter, content: BriefContent): void {
  const { title, objective, criteria, questions } = content;
  place('title', `# ${inline(title, 150)}`, '# What the brief asks for');
  add('', '## User Story');
  place(
    'story',
    STORY.test(objective)
      ? inline(objective)
      : `As somebody who works with this project, I want this: ${inline(title, 150)}`,
    'As somebody who works with this project, I want what the brief asks for, quoted below.',
  );
  add('', '## Objective');
  place('objective', inline(objective), 'What the brief asks for, quoted below.');
  quote('title', title);
  quote('objective', objective);
  for (const [index, question] of questions.entries()) quote(`question ${index + 1}`, question);
  for (const [index, criterion] of criteria.entries()) quote(`requirement ${index + 1}`, criterion);
  quotationHere();
}

/** A scenario, a requirement and a criterion for each thing that the brief says. */
function writeEntries({ add, place, isWithheld }: ScaffoldWriter, { criteria }: BriefContent): void {
  add('', '## Scenarios of Use');
  for (const [index, criterion] of criteria.entries()) {
    const number = index + 1;
    place(
      `scenario ${number}`,
      `- **S${number}:** Somebody needs this and gets it: ${inline(criterion, SHORT)}`,
      `- **S${number}:** Somebody needs what requirement ${number} says, and gets it.`,
    );
  }
  add('', '## Requirements');
  for (const [index, criterion] of criteria.entries()) {
    const name = `requirement ${index + 1}`;
    place(name, `${index + 1}. ${inline(criterion)}`, `${index + 1}. What the objective quotes as ${name} holds.`);
  }
  add('', '## Acceptance Criteria');
  for (const [index, criterion] of criteria.entries()) {
    const number = index + 1;
    const instead = `A test named \`S${number}\` asserts requirement ${number} and ends with 0 failures`;
    const isUsable = !isWithheld(`requirement ${number}`);
    const line = (text: string): string => `- [ ] ${text} (S${number}, R${number})`;
    place(`criterion ${number}`, line(isUsable ? inline(criterion) : instead), line(instead));
  }
}

function writeQuestions({ add, place, isWithheld }: ScaffoldWriter, content: BriefContent): void {
  const { questions, criteria, criteriaLeftOut } = content;
  add('', '## Open Questions');
  for (const [index, question] of questions.entries()) {
    const name = `question ${index + 1}`;
    place(name, `- [ ] ${inline(question)}`, `- [ ] What is the answer to ${name} of the brief, quoted above?`);
  }
  const own = criteria.flatMap((_, index) => {
    const number = index + 1;
    if (isWithheld(`requirement ${number}`))
      return [`Requirement ${number}, quoted above, leaves something open: what exactly is wanted?`];
    return isWithheld(`criterion ${number}`)
      ? [`Requirement ${number} can't be checked by a program in the brief's words: what is to be checked?`]
      : [];
  });
  if (criteriaLeftOut > 0) {
    const all = criteria.length + criteriaLeftOut;
    own.push(
      `The brief asks for ${all} things, and this issue holds the first ${criteria.length}: how is it to be split?`,
    );
  }
  add(...own.map((question) => `- [ ] ${question}`));
  if (questions.length + own.length === 0) add('None.');
}
