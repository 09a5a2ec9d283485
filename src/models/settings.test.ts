import { describe, expect, it } from 'vitest';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { vendorBaseUrl } from './settings.ts';

const CASES: [VendorName, string | undefined, string][] = [
  ['anthropic', undefined, 'https://api.anthropic.com/v1'],
  ['anthropic', '', 'https://api.anthropic.com/v1'],
  ['anthropic', 'https://api.anthropic.com', 'https://api.anthropic.com/v1'],
  ['anthropic', 'https://proxy.example/anthropic/', 'https://proxy.example/anthropic/v1'],
  ['anthropic', 'https://proxy.example/v1//', 'https://proxy.example/v1'],
  ['google', undefined, 'https://generativelanguage.googleapis.com/v1beta'],
  ['google', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/v1beta'],
  ['google', 'https://proxy.example/v1', 'https://proxy.example/v1'],
  ['google', 'https://proxy.example/v1beta1', 'https://proxy.example/v1beta1'],
  ['openai', undefined, 'https://api.openai.com/v1'],
  ['openai', ' https://proxy.example/openai/v1/ ', 'https://proxy.example/openai/v1'],
  ['openai', 'https://proxy.example/v2-beta', 'https://proxy.example/v2-beta/v1'],
  ['openai-compatible', 'http://localhost:11434', 'http://localhost:11434/v1'],
  ['openai-compatible', 'https://host.example/api/paas/v4/', 'https://host.example/api/paas/v4'],
  ['openai-compatible', 'https://host.example/v1beta/openai', 'https://host.example/v1beta/openai'],
];

describe('vendorBaseUrl', () => {
  it.each(CASES)('%s at %s is called at %s', (vendor, url, expected) => {
    expect(vendorBaseUrl(vendor, url)).toBe(expected);
  });

  it.each([
    ['openai-compatible', undefined],
    ['anthropic', 'api.anthropic.com'],
    ['anthropic', 'file:///etc/passwd'],
    ['openai', 'https://user:hunter2@host.example/v1'],
  ] as const)('%s at %s is refused, and what stands in the URL is not repeated', (vendor, url) => {
    try {
      vendorBaseUrl(vendor, url);
      expect.unreachable();
    } catch (error) {
      expect(error instanceof AgentosError && error.code).toBe('usage');
      expect(String(error)).not.toContain('hunter2');
    }
  });
});
