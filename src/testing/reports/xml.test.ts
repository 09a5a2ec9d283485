import { expect, test } from 'vitest';
import { elementsNamed, parseXml } from './xml.ts';

test('elements, attributes in both quotes, text, CDATA and entities are read', () => {
  const root = parseXml(`\uFEFF<?xml version="1.0"?><!DOCTYPE x><!-- <no> --><a x="1 &lt; 2" y='&quot;&#10;&#x41;'>
    t&amp;u<b/><![CDATA[<raw> & ]] ]]><b n = "2">deep</b></a>`);
  expect(root?.attributes).toEqual({ x: '1 < 2', y: '"\nA' });
  expect(root?.text.trim()).toBe('t&u<raw> & ]]');
  expect(root === null ? [] : elementsNamed(root, 'b').map(({ text, attributes }) => [text, attributes])).toEqual([
    ['', {}],
    ['deep', { n: '2' }],
  ]);
});

test('what is cut off, crossed or no XML at all is null', () => {
  for (const text of ['', 'plain', '<a>', '<a><b></a></b>', '<a><![CDATA[x</a>', '<a x=1/>', '</a>', '<a', '<!-- '])
    expect(parseXml(text), text).toBeNull();
});

test('numbers, blanks and a > in an attribute stay the text that they are', () => {
  const root = parseXml('<a m="x -> y" n="007"><b> 1e3 </b></a>');
  expect([root?.attributes, root?.children[0]?.text]).toEqual([{ m: 'x -> y', n: '007' }, ' 1e3 ']);
});
