/** An LLD of the usual size and kinds of content: tables, lists, fences with and without a language, an open question. */
export const SAMPLE_LLD = `# 42 - Feature: Bounded retries

## 1. Context & Goal
* **Issue:** #42
* **Objective:** Calls to the vendor are retried a bounded number of times, with a growing pause between them.
* **Status:** Draft
* **Related Issues:** None

### Open Questions
- [ ] Which module owns the retry policy?
- [x] ~~Is jitter wanted?~~ **RESOLVED: Yes, full jitter.**

## 2. Proposed Changes
### 2.1 Files Changed
| File | Change Type | Description |
|------|-------------|-------------|
| \`src/retry.js\` | Add | The policy and the loop around a call |
| \`test/retry.test.js\` | Add | Its tests |

### 2.2 Dependencies
None.

### 2.3 Data Structures
\`\`\`js
// { maxRetries: number, baseMs: number, ceilingMs: number }
\`\`\`

### 2.4 Function Signatures
\`\`\`js
// async function withRetries(call, policy) -> result
\`\`\`

### 2.5 Logic Flow
\`\`\`
1. Call the vendor.
2. On a 429, wait and call again.
3. Give up with the last error.
\`\`\`

### 2.6 Technical Approach
A pure policy and one loop. The loop has no state of its own, takes its clock as a parameter, and reports each attempt
to its caller, so that tests need not wait and the log shows what happened. Pauses grow by a factor of two up to the
ceiling.

### 2.7 Architecture Decisions
| Decision | Options Considered | Choice | Rationale |
|----------|-------------------|--------|-----------|
| State | Class, function | Function | No state is needed |

## 3. Requirements
1. A call that answers 429 is repeated at most \`maxRetries\` times.
2. The pause between two attempts never exceeds \`ceilingMs\`.
3. An error other than 429 is thrown at once.

## 4. Alternatives Considered
| Option | Pros | Cons | Decision |
|--------|------|------|----------|
| Library | Nothing to write | A dependency | **Rejected** |
| Own loop | Small | Ours to test | **Selected** |

## 5. Data & Fixtures
No data; the inputs are literals in the tests.

## 6. Diagram
\`\`\`mermaid
flowchart LR
  A[call] --> B{429?}
  B -->|yes| A
  B -->|no| C[result]
\`\`\`

## 7. Security & Safety Considerations
Input is checked before use. Fail mode: fail closed, the last error is thrown and nothing is swallowed on the way.

## 8. Performance & Cost Considerations
At most \`maxRetries\` extra calls, so the cost of one request is bounded by its policy.

## 9. Legal & Compliance
No personal data and no new licence.

## 10. Verification & Testing
| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirements |
|----|----------|------|-------|-----------------|---------------|--------------|
| 010 | Gives up | Auto | 429 for ever | Error | 4 calls were made | REQ-1 |
| 020 | Caps the pause | Auto | 10 attempts | Pauses | No pause above the ceiling | REQ-2 |
| 030 | Throws at once | Auto | 500 | Error | 1 call was made | REQ-3 |

## 11. Risks & Mitigations
| Risk | Impact | Likelihood | Mitigation |
|------|--------|------------|------------|
| A vendor that never recovers | Low | Low | The bound |

## 12. Definition of Done
- [ ] \`src/retry.js\` and \`test/retry.test.js\` are added
- [ ] All scenarios pass

## Appendix: Review Log
| Finding | Answer |
|---------|--------|
| None yet | Draft |
`;
