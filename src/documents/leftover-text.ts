import type { Nodes } from 'mdast';
import type { DocumentFinding } from './document-finding.ts';
import { markedText } from './lld/marked-text.ts';
import { placeholderIn } from './lld/rules/placeholder-text.ts';
import { error, quote, warning } from './lld/rules/rule.ts';
import { lineOf } from './markdown.ts';

const RULE = 'template-text';

/** Finds text of this template, and of anybody's, that nobody replaced. */
export function createLeftoverText(template: string): (node: Nodes) => DocumentFinding[] {
  const placeholders = new Set(template.match(/\{\{[^{}]*\}\}/g) ?? []);
  const hints = new Set([...template.matchAll(/<!--([\s\S]*?)-->/g)].map((match) => bare(match[1] ?? '')));

  function inNode(node: Nodes): DocumentFinding[] {
    if (node.type === 'html') return inHtml(node.value, lineOf(node));
    if (node.type === 'code') {
      const found = [...placeholders].find((placeholder) => node.value.includes(placeholder));
      return found === undefined ? [] : [leftover(lineOf(node), found)];
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

  function inLine(text: string, line: number): DocumentFinding[] {
    const ours = [...placeholders].find((placeholder) => text.includes(placeholder));
    const found = ours ?? placeholderIn(text) ?? (text.length > 20 && hints.has(bare(text)) ? text : null);
    return found === null ? [] : [leftover(line, found)];
  }

  function inHtml(value: string, line: number): DocumentFinding[] {
    const text = value.replace(/<!--[\s\S]*?(?:-->|$)/g, '').trim();
    const found = text === '' ? null : placeholderIn(text);
    return [...hintIn(value, line), ...(found === null ? [] : [leftover(line, found)])];
  }

  function hintIn(value: string, line: number): DocumentFinding[] {
    const hint = [...value.matchAll(/<!--([\s\S]*?)-->/g)]
      .map((match) => match[1] ?? '')
      .find((text) => hints.has(bare(text)));
    return hint === undefined
      ? []
      : [warning(RULE, line, `A hint of the template is left over, ${quote(hint)}: delete it.`)];
  }

  return inNode;
}

export function leftover(line: number, text: string): DocumentFinding {
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
