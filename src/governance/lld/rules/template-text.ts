import type { Nodes } from 'mdast';
import template from '../../lld-template.md';
import { lineOf } from '../../markdown.ts';
import type { LldDocument } from '../document.ts';
import { markedText } from '../marked-text.ts';
import { placeholderIn } from './placeholder-text.ts';
import { error, type LldFinding, quote, warning } from './rule.ts';

const RULE = 'template-text';

const PLACEHOLDERS = new Set(template.match(/\{\{[^{}]*\}\}/g) ?? []);
const HINTS = new Set([...template.matchAll(/<!--([\s\S]*?)-->/g)].map((match) => bare(match[1] ?? '')));

/** Text of a template that nobody replaced. The review log is left out: it cites what reviewers found. */
export function checkTemplateText(lld: LldDocument): LldFinding[] {
  const log = new Set<Nodes>(lld.sections.find(({ id }) => id === 'log')?.nodes ?? []);
  const reported = reportedPlaces(lld);
  const findings = lld.root.children.filter((node) => !log.has(node)).flatMap((node) => inNode(node));
  const paths = lld.files.filter(({ path }) => path.startsWith('path/to/')).map(({ path, line }) => left(line, path));
  return [...findings, ...paths].filter(({ line, severity }) => {
    const isFirst = severity === 'warning' || !reported.has(line);
    reported.add(line);
    return isFirst;
  });
}

/** Lines on which another rule says the same in better words. */
function reportedPlaces(lld: LldDocument): Set<number> {
  const issues = [lld.titleIssue, lld.contextIssue].filter((mention) => mention?.id === null);
  const criteria = lld.scenarios.filter(({ pass }) => placeholderIn(pass) === pass.trim() && !pass.includes('{{'));
  return new Set([...issues, ...criteria].flatMap((place) => (place ? [place.line] : [])));
}

function inNode(node: Nodes): LldFinding[] {
  if (node.type === 'html') return inHtml(node.value, lineOf(node));
  if (node.type === 'code') {
    const found = [...PLACEHOLDERS].find((placeholder) => node.value.includes(placeholder));
    return found === undefined ? [] : [left(lineOf(node), found)];
  }
  if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') {
    const comments = node.children.flatMap((child) =>
      child.type === 'html' ? hintIn(child.value, lineOf(child)) : [],
    );
    const lines = markedText(node).split('\n');
    return [...comments, ...lines.flatMap((text, index) => inLine(text, lineOf(node) + index))];
  }
  return 'children' in node ? node.children.flatMap((child) => inNode(child)) : [];
}

function inLine(text: string, line: number): LldFinding[] {
  const ours = [...PLACEHOLDERS].find((placeholder) => text.includes(placeholder));
  const found = ours ?? placeholderIn(text) ?? (text.length > 20 && HINTS.has(bare(text)) ? text : null);
  return found === null ? [] : [left(line, found)];
}

function inHtml(value: string, line: number): LldFinding[] {
  const text = value.replace(/<!--[\s\S]*?(?:-->|$)/g, '').trim();
  const found = text === '' ? null : placeholderIn(text);
  return [...hintIn(value, line), ...(found === null ? [] : [left(line, found)])];
}

function hintIn(value: string, line: number): LldFinding[] {
  const hint = [...value.matchAll(/<!--([\s\S]*?)-->/g)]
    .map((match) => match[1] ?? '')
    .find((text) => HINTS.has(bare(text)));
  return hint === undefined
    ? []
    : [warning(RULE, line, `A hint of the template is left over, ${quote(hint)}: delete it.`)];
}

function left(line: number, text: string): LldFinding {
  return error(
    RULE,
    line,
    `Template text is left over, ${quote(text)}: replace it (or put it in backticks if it is meant literally).`,
  );
}

function bare(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
