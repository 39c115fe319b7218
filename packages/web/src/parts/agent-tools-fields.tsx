import type { Agent } from '@gatehouse/contract/agents';
import type { BuiltinToolName } from '@gatehouse/contract/builtin-tools';
import { Checks } from './checks.tsx';
import { LongTextField, TextField } from './fields.tsx';

type Tools = Agent['tools'];
type Memory = Agent['memory'];

const builtin: Record<BuiltinToolName, string> = {
  web_fetch: 'Read pages of the web',
  memory_search: 'Search its memory',
  kg_traverse: 'Follow its knowledge graph',
};
const builtinOptions = Object.entries(builtin) as [BuiltinToolName, string][];

const memoryOptions = [
  ['enabled', 'Answer with what its memory has on the question'],
  ['write', 'Keep finished turns'],
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
        legend="Tools of the gateway"
        options={builtinOptions}
        value={value.builtin}
        onChange={(chosen) => onChange({ builtin: [...chosen] })}
      />
      <LinesField
        label="MCP servers"
        hint="One a line: SERVER for all of its tools, SERVER/TOOL for one"
        lines={value.mcp_servers}
        onChange={(names) => onChange({ mcp_servers: names })}
      />
      <LinesField
        label="Hosts that it may read"
        hint="One a line, such as docs.example.com or *.example.com. Empty: every public host"
        lines={value.web_hosts}
        onChange={(hosts) => onChange({ web_hosts: hosts })}
      />
      <TextField
        label="Most calls of the model in a run"
        value={String(value.max_iterations)}
        isWhole
        isRequired
        onChange={(text) => onChange({ max_iterations: Number(text) })}
      />
      <TextField
        label="Most USD before it calls no more tools"
        value={value.max_cost_usd ?? ''}
        onChange={(text) => onChange({ max_cost_usd: text === '' ? null : text })}
        hint="Empty: no bound of its own"
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
        label="Passages for an answer"
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
