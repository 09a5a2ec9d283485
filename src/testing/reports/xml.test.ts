import fc from 'fast-check';
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

test('a > in an attribute does not end the tag', () => {
  expect(parseXml('<a m="x -> y"/>')?.attributes).toEqual({ m: 'x -> y' });
});

test('what is cut off, crossed or no XML at all is null', () => {
  for (const text of ['', 'plain', '<a>', '<a><b></a></b>', '<a><![CDATA[x</a>', '<a x=1/>', '</a>', '<a', '<!-- '])
    expect(parseXml(text), text).toBeNull();
});

test('an entity that nobody knows stays as it is', () => {
  expect(parseXml('<a>&nbsp;&#1114112;</a>')?.text).toBe('&nbsp;&#1114112;');
});

test('any text survives being written and read', () => {
  const escape = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (attribute, text) => {
      const root = parseXml(`<a b="${escape(attribute)}"><c>${escape(text)}</c></a>`);
      expect([root?.attributes.b, root?.children[0]?.text]).toEqual([attribute, text]);
    }),
  );
});
