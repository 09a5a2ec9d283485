import { inline } from './inline.ts';
import { isTestPath, type PlannedFile } from './issue-files.ts';
import type { IssueReading } from './issue-reading.ts';
import { createScaffoldWriter, type Place, type Scaffold, type ScaffoldWriter } from './scaffold-writer.ts';

/** Everything that a scaffold is made from. */
interface ScaffoldContent extends IssueReading {
  id: string;
  title: string;
  files: PlannedFile[];
  /** For a design that can use none of these: without any word of the issue in their paths. */
  namelessFiles: PlannedFile[];
}

const SHORT = 90;

/** The LLD in our template's form, from what the issue says and what is true of any small change. */
export function renderScaffold(content: ScaffoldContent, withheld: ReadonlySet<Place>): Scaffold {
  const writer = createScaffoldWriter(withheld);
  const usable = content.files.filter(({ path }) => !withheld.has(`file ${path}`));
  const files = usable.length > 0 ? usable : content.namelessFiles;
  const paths = files.map(({ path }) => path);
  const module = paths.find((path) => !isTestPath(path)) ?? paths[0] ?? '';
  const test = paths.find(isTestPath) ?? module;
  writeContext(writer, content);
  writeChanges(writer, { ...content, files }, module);
  writeRequirements(writer, content);
  writeConsiderations(writer, module);
  writeScenarios(writer, content, test);
  writeEnd(writer, test);
  return writer.finish();
}

function writeContext(writer: ScaffoldWriter, content: ScaffoldContent): void {
  const { id, title, objective, criteria, questions } = content;
  const { add, place, quote } = writer;
  place('title', `# ${inline(id)} - Feature: ${inline(title, 150)}`, `# ${inline(id)} - Feature: As the issue says`);
  add('', '## 1. Context & Goal', `* **Issue:** #${inline(id)}`);
  place(
    'objective',
    `* **Objective:** ${inline(objective)}`,
    '* **Objective:** What the issue asks for, quoted below.',
  );
  add('* **Status:** Draft', '* **Related Issues:** None', '', '### Open Questions');
  for (const [index, question] of questions.entries()) {
    const name = `question ${index + 1}`;
    place(name, `- [ ] ${inline(question)}`, `- [ ] What is the answer to ${name} of the issue, quoted below?`);
  }
  const own = questionsAbout(writer, content);
  add(...own.map((question) => `- [ ] ${question}`));
  if (questions.length + own.length === 0) add('None.');

  quote('title', title);
  quote('objective', objective);
  for (const [index, question] of questions.entries()) quote(`question ${index + 1}`, question);
  for (const [index, criterion] of criteria.entries()) quote(`requirement ${index + 1}`, criterion);
  writer.quotationHere();
}

/** What the scaffold could not take over as it stands. */
function questionsAbout(
  { isWithheld }: ScaffoldWriter,
  { criteria, criteriaLeftOut, files }: ScaffoldContent,
): string[] {
  const questions = criteria.flatMap((_, index) => {
    const number = index + 1;
    if (isWithheld(`requirement ${number}`))
      return [`Requirement ${number}, quoted below, leaves something open: what exactly is wanted?`];
    return isWithheld(`scenario ${number}`)
      ? [`Requirement ${number} can't be checked by a program in the issue's words: what is to be checked?`]
      : [];
  });
  for (const { path, named } of files) {
    if (named && isWithheld(`file ${path}`)) {
      questions.push(`The issue names \`${path}\`, which can't be listed as it stands: where does it belong?`);
    }
  }
  if (criteriaLeftOut > 0) {
    const all = criteria.length + criteriaLeftOut;
    questions.push(
      `The issue has ${all} criteria, and this design holds the first ${criteria.length}: how is it to be split?`,
    );
  }
  return questions;
}

function writeChanges({ add, place }: ScaffoldWriter, { files, criteria }: ScaffoldContent, module: string): void {
  add('', '## 2. Proposed Changes', '', '### 2.1 Files Changed');
  add('| File | Change Type | Description |', '|------|-------------|-------------|');
  for (const { path, change, description } of files) {
    place(`file ${path}`, `| \`${path}\` | ${change} | ${description} |`, '');
  }
  add(
    '',
    '### 2.2 Dependencies',
    'None beyond those that the repository has.',
    '',
    '### 2.3 Data Structures',
    'None beyond those that the repository has.',
    '',
    '### 2.4 Function Signatures',
    `The tests of section 10 name what \`${module}\` offers; they are written first.`,
    '',
    '### 2.5 Logic Flow',
    '1. Refuse input that the requirements do not allow, with an error that names it.',
    `2. Do what ${criteria.length === 1 ? 'requirement 1 says' : `requirements 1 to ${criteria.length} say`}, in \`${module}\`.`,
    '3. Return the result to the caller.',
    '',
    '### 2.6 Technical Approach',
    "A scaffold: rules put it together from the issue's own words, no model was involved. It fixes the requirements, their tests and the files; how the code does it is left to whoever writes it.",
    '',
    '### 2.7 Architecture Decisions',
    '| Decision | Options Considered | Choice | Rationale |',
    '|----------|-------------------|--------|-----------|',
    `| Where the change goes | A new place, the existing layout | \`${module}\` | It follows the issue and the layout of the repository |`,
  );
}

function writeRequirements({ add, place }: ScaffoldWriter, { criteria }: ScaffoldContent): void {
  add('', '## 3. Requirements');
  for (const [index, criterion] of criteria.entries()) {
    const name = `requirement ${index + 1}`;
    place(name, `${index + 1}. ${inline(criterion)}`, `${index + 1}. What section 1 quotes as ${name} holds.`);
  }
}

function writeConsiderations({ add }: ScaffoldWriter, module: string): void {
  add(
    '',
    '## 4. Alternatives Considered',
    '| Option | Pros | Cons | Decision |',
    '|--------|------|------|----------|',
    '| Leave it as it is | No work | The issue stays open | **Rejected** |',
    '| The smallest change that meets the requirements | Easy to review and to undo | Later wishes need another change | **Selected** |',
    '',
    '## 5. Data & Fixtures',
    'The inputs are literals in the tests; no personal and no secret data.',
    '',
    '## 6. Diagram',
    '```mermaid',
    'flowchart LR',
    '  A["Input"] --> B{"Allowed?"}',
    `  B -- yes --> C["${module.replace(/[^A-Za-z0-9/._ -]/g, '-')}"]`,
    '  B -- no --> D["Error"]',
    '  C --> E["Result"]',
    '```',
    '',
    '## 7. Security & Safety Considerations',
    'Input is checked before it is used. Fail mode: fail closed. An error ends the operation, and what was there before stays as it was.',
    '',
    '## 8. Performance & Cost Considerations',
    'Budget: at most 10 seconds for the test of each scenario. What the requirements say about speed and size is asserted there.',
    '',
    '## 9. Legal & Compliance',
    "No new licence: the code is the repository's own. The tests use no personal data.",
  );
}

function writeScenarios({ add, place }: ScaffoldWriter, { criteria }: ScaffoldContent, test: string): void {
  add('', '## 10. Verification & Testing');
  add('| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirements |');
  add('|----|----------|------|-------|-----------------|---------------|--------------|');
  for (const [index, criterion] of criteria.entries()) {
    const number = index + 1;
    const id = String(number * 10).padStart(3, '0');
    const pass = `The test named \`${id}\` in \`${test}\` asserts this and ends with 0 failures`;
    const row = (scenario: string, expected: string): string =>
      `| ${id} | ${scenario} | Auto | The input that requirement ${number} speaks of | ${expected} | ${pass} | REQ-${number} |`;
    place(
      `scenario ${number}`,
      row(inline(criterion, SHORT), inline(criterion)),
      row(`Requirement ${number}`, `What requirement ${number} says`),
    );
  }
}

function writeEnd({ add }: ScaffoldWriter, test: string): void {
  add(
    '',
    '## 11. Risks & Mitigations',
    '| Risk | Impact | Likelihood | Mitigation |',
    '|------|--------|------------|------------|',
    '| The issue means more than its words say | Medium | Medium | The requirements keep its words; the tests are written first |',
    '',
    '## 12. Definition of Done',
    `- [ ] \`${test}\` has a test for each scenario, with the scenario's id in its name`,
    '- [ ] All scenarios of section 10 pass, and so do the tests that were there before',
    '',
    '## Appendix: Review Log',
    '| Finding | Answer |',
    '|---------|--------|',
    '| None yet | Draft |',
    '',
  );
}
