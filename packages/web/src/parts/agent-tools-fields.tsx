import type { Agent } from '@gatehouse/contract/agents';
import type { BuiltinToolName } from '@gatehouse/contract/builtin-tools';
import { Checks } from './checks.tsx';
import { LongTextField, TextField } from './fields.tsx';

type Tools = Agent['tools'];
type Memory = Agent['memory'];

const builtin: Record<BuiltinToolName, string> = {
  web_fetch: 'Fetch web pages',
  memory_search: 'Search memory',
  kg_traverse: 'Traverse the knowledge graph',
};
const builtinOptions = Object.entries(builtin) as [BuiltinToolName, string][];

const memoryOptions = [
  ['enabled', 'Recall passages for each question'],
  ['write', 'Store finished turns'],
] as const;

interface FieldsProps<Value> {
  value: Value;
  onChange: (change: Partial<Value>) => void;
}

/** The tools of an agent. */
export function AgentToolsFields({ value, onChange }: FieldsProps<Tools>) {
  return (
    <>
      <Checks
        legend="Built-in tools"
        options={builtinOptions}
        value={value.builtin}
        onChange={(chosen) => onChange({ builtin: [...chosen] })}
      />
      <LinesField
        label="MCP servers"
        hint="One per line: SERVER for all of its tools, SERVER/TOOL for one"
        lines={value.mcp_servers}
        onChange={(names) => onChange({ mcp_servers: names })}
      />
      <LinesField
        label="Allowed web hosts"
        hint="One per line, such as docs.example.com or *.example.com. Empty: every public host"
        lines={value.web_hosts}
        onChange={(hosts) => onChange({ web_hosts: hosts })}
      />
      <TextField
        label="Max iterations"
        value={String(value.max_iterations)}
        isWhole
        isRequired
        onChange={(text) => onChange({ max_iterations: Number(text) })}
      />
      <TextField
        label="Max cost in USD"
        value={value.max_cost_usd ?? ''}
        onChange={(text) => onChange({ max_cost_usd: text === '' ? null : text })}
        hint="The agent calls no more tools beyond it. Empty: no limit"
      />
    </>
  );
}

/** The memory of an agent in its turns. */
export function AgentMemoryFields({ value, onChange }: FieldsProps<Memory>) {
  const chosen = memoryOptions.flatMap(([name]) => (value[name] ? [name] : []));
  return (
    <>
      <Checks
        legend="Memory"
        options={memoryOptions}
        value={chosen}
        onChange={(now) => onChange({ enabled: now.includes('enabled'), write: now.includes('write') })}
      />
      <TextField
        label="Recall limit"
        value={String(value.recall_limit)}
        isWhole
        isRequired
        onChange={(text) => onChange({ recall_limit: Number(text) })}
      />
    </>
  );
}

interface LinesFieldProps {
  label: string;
  hint: string;
  lines: readonly string[];
  onChange: (lines: string[]) => void;
}

function LinesField({ label, hint, lines, onChange }: LinesFieldProps) {
  return (
    <LongTextField
      {...{ label, hint }}
      rows={3}
      value={lines.join('\n')}
      onChange={(text) => onChange(text === '' ? [] : text.split('\n').map((line) => line.trim()))}
    />
  );
}
