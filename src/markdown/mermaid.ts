const DIAGRAMS = new Set(
  (
    'graph flowchart flowchart-elk sequenceDiagram classDiagram classDiagram-v2 stateDiagram stateDiagram-v2 erDiagram ' +
    'journey gantt pie quadrantChart requirementDiagram requirement gitGraph mindmap timeline zenuml sankey sankey-beta ' +
    'xychart xychart-beta block block-beta packet packet-beta kanban architecture architecture-beta radar radar-beta ' +
    'treemap treemap-beta C4Context C4Container C4Component C4Dynamic C4Deployment'
  ).split(' '),
);
const DIRECTION = /^(?:TB|TD|BT|RL|LR|>|<|\^|v)$/;
const RELATION = /[|}][|o](?:--|\.\.)[|o][|{]/;

/**
 * Why Mermaid would refuse the diagram, or null. Mermaid itself is several megabytes, so this is a light parser: it reads
 * flowcharts and sequence diagrams as Mermaid does, and checks only brackets and arrows of the others.
 */
export function mermaidProblem(text: string): string | null {
  const lines = bareLines(text);
  const head = lines[0]?.trim();
  if (head === undefined) return 'the diagram is empty';
  const [, type = '', rest = ''] = /^([\w-]+):?\s*;?\s*(.*)$/.exec(head) ?? [];
  if (!DIAGRAMS.has(type)) return `${quoted(head)} is not a known diagram type (write "flowchart LR", for example)`;
  const body = lines.slice(1);
  if (type === 'graph' || type.startsWith('flowchart')) return flowchartProblem(rest, body);
  if (body.length === 0 && rest === '') return `the ${type} has no content`;
  if (type === 'sequenceDiagram') return sequenceProblem(body);
  if (type === 'requirementDiagram') return braceProblem(body);
  if (type === 'erDiagram') {
    const unnamed = body.find((line) => RELATION.test(line) && !line.includes(':'));
    if (unnamed) return `the relation ${quoted(unnamed)} has no name (write ": …" behind it)`;
    return braceProblem(body.map((line) => withoutLabel(line).replace(RELATION, ' ')));
  }
  if (!/^(?:state|class)Diagram/.test(type)) return null;
  const noArrow = type.startsWith('state') ? /(?<![-<])->/ : /(?<![-.=<])[-=]>/;
  const arrow = body.map((line) => noArrow.exec(withoutLabel(line))?.[0]).find(Boolean);
  return arrow ? `"${arrow}" is not an arrow of a ${type} (use "-->")` : braceProblem(body.map(withoutLabel));
}

/** Lines without configuration, comments and blanks. */
function bareLines(text: string): string[] {
  return text
    .replace(/^\s*---\n[\s\S]*?\n\s*---[ \t]*(?:\n|$)/, '')
    .replace(/%%\{[\s\S]*?\}%%/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*%%/.test(line));
}

function quoted(line: string): string {
  return `"${line.trim().slice(0, 40)}"`;
}

function flowchartProblem(rest: string, body: string[]): string | null {
  const [first = '', ...others] = rest.split(/[\s;]+/).filter((word) => word !== '');
  const onHeadLine = DIRECTION.test(first) ? others.join(' ') : '';
  if (first !== '' && !DIRECTION.test(first) && others.length === 0)
    return `"${first}" is not a direction (use TD, TB, BT, LR or RL)`;
  if (body.length === 0 && onHeadLine === '') return 'the flowchart has no content';
  const source = [onHeadLine, ...body].join('\n');
  if (source.split('"').length % 2 === 0) return 'a quotation mark is not closed';
  // Quoted text may contain anything.
  return statementsProblem(source.replace(/"[^"]*"/g, '""'));
}

const SETTING =
  /(?:(?:classDef|class|style|linkStyle|click|direction|accTitle|accDescr)\b[^\n;]*|subgraph\b[^\n;]*|end(?=\s*(?:[\n;]|$)))/y;
const LABEL = String.raw`(?:\s*""\s*|[^()[\]{}|"]*)`;
/** The shapes of a node, each around its label. */
const SHAPES = String.raw`((( )))|([ ])|(( ))|[[ ]]|[( )]|[/ /]|[/ \]|[\ /]|[\ \]|{{ }}|( )|{ }|> ]`
  .split('|')
  .map((shape) => shape.replace(/[^ >]/g, '\\$&').replace(' ', () => LABEL))
  .concat(String.raw`\[(?![/\\])${LABEL}\]`, String.raw`@\{[^}]*\}`);
const ID = String.raw`(?!end(?:[\s;&]|$))(?:[\p{L}\p{N}!#$%'*+.\x60?\\_/]|-(?=[^>\-.])|=(?![=>]))+`;
const NODE = new RegExp(String.raw`${ID}(?:${SHAPES.join('|')})?(?::::[\w-]+)?`, 'yu');
/** `-->`, `---`, `==>`, `-.->`, `~~~`, with an optional id and heads; or with text inside; then a label in bars. */
const LINK =
  /\s*(?:(?:\w+@)?[xo<]?(?:-{2,}[-xo>]|={2,}[=xo>]|-\.+-[xo>]?|~{3,})|[xo<]?(?:--[^\n]+?--+[-xo>]|==[^\n]+?==+[=xo>]|-\.[^\n]+?\.+-[xo>]?))(?:\s*\|(?:\s*""\s*|[^()[\]{}|"\n]*)\|)?\s*/y;

/** Reads the statements of a flowchart: nodes joined by `&`, chained by links, each with its shape and label. */
function statementsProblem(source: string): string | null {
  let at = 0;
  let depth = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  };
  for (take(/[\s;]*/y); at < source.length; take(/[\s;]*/y)) {
    const [statement = ''] = source.slice(at, at + 200).split('\n');
    const setting = take(SETTING);
    if (setting !== null) {
      depth += setting.startsWith('subgraph') ? 1 : setting === 'end' ? -1 : 0;
      if (depth < 0) return 'an "end" closes nothing';
      continue;
    }
    let isRead = true;
    do {
      isRead = take(NODE) !== null;
    } while (isRead && (take(/\s*&\s*/y) ?? take(LINK)) !== null);
    if (!isRead || take(/[ \t]*(?:[\n;]|$)/y) === null)
      return `${quoted(statement)} can't be read (links are "-->", a label with brackets, bars or quotation marks is quoted as a whole, no node is called "end")`;
  }
  return depth > 0 ? 'a "subgraph" has no "end"' : null;
}

const OPENERS = /^(loop|alt|opt|par|par_over|critical|break|rect|box)\b/i;
const SETTINGS =
  /^(?:participant|actor|create|destroy|activate|deactivate|autonumber|title|links?|properties|details|accTitle|accDescr)\b/i;
const PARTS: Record<string, string[]> = { else: ['alt'], and: ['par', 'par_over'], option: ['critical'] };

/** Each line of a sequence diagram is the beginning, part or end of a block, a note, a setting, or a message with text. */
function sequenceProblem(lines: string[]): string | null {
  const open: string[] = [];
  // A semicolon ends a statement, unless it ends an entity.
  const statements = lines.flatMap((line) => line.replace(/#\w+;/g, '').split(';'));
  for (const line of statements.map((each) => each.trim()).filter((each) => each !== '')) {
    const opener = OPENERS.exec(line)?.[1]?.toLowerCase();
    const part = /^(else|and|option)\b/i.exec(line)?.[1]?.toLowerCase();
    if (opener !== undefined) open.push(opener);
    else if (/^end$/i.test(line)) {
      if (open.pop() === undefined) return 'an "end" closes nothing';
    } else if (part !== undefined) {
      if (!PARTS[part]?.includes(open.at(-1) ?? '')) return `${quoted(line)} belongs to no open "${PARTS[part]?.[0]}"`;
    } else if (/^note\b/i.test(line)) {
      if (!/^note\s+(?:right of|left of|over)\b[^:]+:/i.test(line))
        return `${quoted(line)} is not a note (write "Note over A: …")`;
    } else if (!SETTINGS.test(line) && !/^[^:]+?(?:<<)?--?(?:>>?|x|\)|[|/\\]+)[^:]+?:/.test(line))
      return `${quoted(line)} is not a message with text (write "A->>B: …")`;
  }
  const left = open.at(-1);
  return left === undefined ? null : `"${left}" has no "end"`;
}

function braceProblem(lines: string[]): string | null {
  let depth = 0;
  for (const brace of lines
    .join('\n')
    .replace(/"[^"\n]*"/g, '')
    .match(/[{}]/g) ?? []) {
    depth += brace === '{' ? 1 : -1;
    if (depth < 0) return 'a "}" closes nothing';
  }
  return depth > 0 ? 'a "{" is not closed' : null;
}

/** Drops the text behind a colon, because labels and notes may contain anything. */
function withoutLabel(line: string): string {
  return line.replace(/(?<!:):(?!:)(?!.*\{\s*$).*$/, '');
}
