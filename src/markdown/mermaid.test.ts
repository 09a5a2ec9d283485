import { describe, expect, test } from 'vitest';
import { mermaidProblem } from './mermaid.ts';

describe('ordinary diagrams are accepted', () => {
  test.each([
    'flowchart LR\n  A[value] --> B[item42]\n  B --> C[result]',
    'graph TD;\n  A-->B;\n  B-->C;',
    'graph\n A --> B',
    'flowchart LR; A-->B',
    'flowchart LR\n A --> End\n B -- at the end --> C\n D["call load(x)"] --> endpoint',
    'flowchart TD\n  A([start]) --> B{ok?}\n  B -->|"yes (1)"| C[[sub]]\n  B -->|no| D[(db)]\n  C --> E((end1))\n  D --> F{{hex}}\n  F --> G[/in/]\n  G --> H[\\out\\]\n  H --> I>flag]',
    'flowchart TD\n  A["f(x) [see"] --> B["it says: ok)"]',
    'flowchart TD\n A[path/to/file.ts] --> B[x = y + 1]\n B --> C & D\n worker-1 -. maybe .-> a.b.c\n 用户 --> Größe[50%]',
    'flowchart TD\n A e1@--> B\n A -- "y (z)" --> C\n A o--o D;\n A ---> E',
    'flowchart TD\n  A[first<br>line] --> B[second<br/>line]',
    'flowchart TD\n  A -- text --> B\n  B -.-> C\n  C ==> D\n  D --o E\n  E --x F\n  F <--> G\n  G ~~~ H',
    'flowchart TB\n  subgraph one["One"]\n    A --> B\n    subgraph two\n      C\n    end\n  end\n  B --> C',
    '---\ntitle: x\nconfig:\n  theme: dark\n---\nflowchart LR\n  A --> B',
    '%%{init: {"theme": "dark"}}%%\n%% a comment with ( in it\nflowchart LR\n  A --> B',
    'flowchart LR\n  A@{ shape: rect, label: "x" } --> B:::big\n  classDef big fill:#f9f,stroke:#333;\n  style A fill:#fff\n  click A "https://example.org" _blank',
    'sequenceDiagram\n  participant A as User (human\n  A->>B: call(x\n  B-->>A: "reply :)\n  A-)B: async\n  loop each job\n    A->>B: go\n  end\n  alt ok\n    B-->>A: fine\n  else failed\n    B--xA: no\n  end\n  Note over A,B: text } here',
    'sequenceDiagram\n  box Aqua Group\n  participant A\n  end\n  par one\n    A->>B: x\n  and two\n    A->>C: y\n  end\n  rect rgb(0, 0, 0)\n    A->>B: z\n  end',
    'stateDiagram-v2\n  [*] --> Open\n  Open --> Done: settled {maybe\n  state Open {\n    [*] --> Sub\n  }\n  Done --> [*]',
    'classDiagram\n  class Animal {\n    +String name\n    +List~int~ ages\n    +eat(food) bool\n  }\n  Animal <|-- Duck : is a\n  Animal "1" --> "*" Leg',
    'erDiagram\n  CUSTOMER ||--o{ ORDER : places\n  ORDER }|..|{ LINE : has\n  CUSTOMER {\n    string name PK "the (full) name"\n  }',
    'gantt\n  title Plan (draft\n  section A\n  Task :a1, 2026-01-01, 30d',
    'pie title Pets\n  "Dogs" : 386',
    'mindmap\n  root((x))\n    a',
    'gitGraph\n  commit\n  branch x',
    'journey\n  title Day\n  section Work\n    Tea: 5: Me',
    'timeline\n  2020 : a',
    'C4Context\n  Person(a, "A")',
  ])('%s', (text) => {
    expect(mermaidProblem(text)).toBeNull();
  });
});

describe('what cannot be drawn has a reason', () => {
  test.each([
    ['', /empty/],
    ['%% only a comment', /empty/],
    ['flowchart LR', /no content/],
    ['sequenceDiagram', /no content/],
    ['flowchrt LR\n A --> B', /not a known diagram type/],
    ['Flowchart LR\n A --> B', /is written "flowchart"/],
    ['A --> B', /not a known diagram type/],
    ['flowchart sideways\n A --> B', /not a direction/],
    ['flowchart LR\n A[value --> B[x]', /brackets/],
    ['flowchart LR\n A[value) --> B', /not closed/],
    ['flowchart LR\n A --> B]', /not allowed here/],
    ['flowchart LR\n A{ok? --> B', /not closed/],
    ['flowchart LR\n A["text] --> B', /quotation mark/],
    ['flowchart LR\n A -->|label B', /is not a node/],
    ['flowchart LR\n subgraph one\n A --> B', /has no "end"/],
    ['flowchart LR\n A --> B\n end', /closes nothing/],
    ['flowchart LR\n A[call load(x)] --> B', /brackets/],
    ['flowchart LR\n A(do [it]) --> B', /brackets/],
    ['flowchart LR\n A{is f(x) ok?} --> B', /brackets/],
    ['flowchart LR\n A -> B', /not an arrow/],
    ['flowchart LR\n A[x] -> B[y]', /not an arrow/],
    ['flowchart LR\n A --> end', /"end"/],
    ['flowchart LR\n end --> A', /"end"/],
    ['flowchart LR\n A => B', /not an arrow/],
    ['flowchart LR\n A -->', /leads nowhere/],
    ['flowchart LR\n A --> B A --> C', /not allowed here/],
    ['flowchart LR\n A --> B : label', /not allowed here/],
    ['flowchart LR\n A[a | b] --> B', /bars/],
    ['flowchart LR\n A["a "quoted" b"]', /quotation marks/],
    ['flowchart LR\n A -->|f(x)| B', /brackets/],
    ['sequenceDiagram\n A => B: x', /not a message/],
    ['sequenceDiagram\n A->>B: a; b', /not a message/],
    ['sequenceDiagram\n Note A: text', /not a note/],
    ['sequenceDiagram\n opt x\n A->>B: y\n else z\n end', /no open "alt"/],
    ['sequenceDiagram\n A->>B', /no text/],
    ['sequenceDiagram\n loop each\n A->>B: x', /has no "end"/],
    ['sequenceDiagram\n A->>B: x\n end', /closes nothing/],
  ])('%s', (text, reason) => {
    expect(mermaidProblem(text)).toMatch(reason);
  });
});
