import type { BuiltinToolName } from '@gatehouse/contract/builtin-tools';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import type { MemoryDraft, ToolsDraft } from './agent-draft.ts';
import { Checks } from './checks.tsx';
import { Choice, LinesField, TextField } from './fields.tsx';
import { ServerTools } from './server-tools.tsx';

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

const analysers = { english: 'English', simple: 'Any language, and code' };

interface FieldsProps<Value> {
  value: Value;
  onChange: (change: Partial<Value>) => void;
}

/** The tools of an agent. */
export function AgentToolsFields({ value, onChange }: FieldsProps<ToolsDraft>) {
  const maySeeServers = may(usePerson(), { scope: 'mcp.write' });
  const setServers = (names: readonly string[]): void => onChange({ mcp_servers: [...names] });
  return (
    <>
      <Checks
        legend="Built-in tools"
        options={builtinOptions}
        value={value.builtin}
        onChange={(chosen) => onChange({ builtin: [...chosen] })}
        param="tools.builtin"
      />
      {value.builtin.includes('web_fetch') ? (
        <LinesField
          label="Allowed web hosts"
          hint="One per line, such as docs.example.com or *.example.com. Empty: every public host"
          value={value.web_hosts}
          onChange={(hosts) => onChange({ web_hosts: [...hosts] })}
          param="tools.web_hosts"
        />
      ) : null}
      {maySeeServers ? (
        <ServerTools value={value.mcp_servers} onChange={setServers} param="tools.mcp_servers" />
      ) : (
        <LinesField
          label="MCP servers"
          hint="One per line: SERVER for all of its tools, SERVER/TOOL for one"
          value={value.mcp_servers}
          onChange={setServers}
          param="tools.mcp_servers"
        />
      )}
      <TextField
        label="Max iterations"
        value={value.max_iterations}
        isNumber="whole"
        isRequired
        onChange={(text) => onChange({ max_iterations: text })}
        param="tools.max_iterations"
      />
      <TextField
        label="Max cost in USD"
        value={value.max_cost_usd}
        isNumber="decimal"
        onChange={(text) => onChange({ max_cost_usd: text })}
        hint="The agent calls no more tools beyond it. Empty: no limit"
        param="tools.max_cost_usd"
      />
    </>
  );
}

/** The memory of an agent in its turns. */
export function AgentMemoryFields({ value, onChange }: FieldsProps<MemoryDraft>) {
  const chosen = memoryOptions.flatMap(([name]) => (value[name] ? [name] : []));
  return (
    <>
      <Checks
        legend="In each turn"
        options={memoryOptions}
        value={chosen}
        onChange={(now) => onChange({ enabled: now.includes('enabled'), write: now.includes('write') })}
      />
      {value.enabled ? (
        <>
          <TextField
            label="Recall limit"
            value={value.recall_limit}
            isNumber="whole"
            isRequired
            onChange={(text) => onChange({ recall_limit: text })}
            param="memory.recall_limit"
          />
          <TextField
            label="Minimum score"
            value={value.min_score}
            isNumber="decimal"
            isRequired
            onChange={(text) => onChange({ min_score: text })}
            hint="From 0 to 1: passages below it are not recalled"
            param="memory.min_score"
          />
        </>
      ) : null}
      <Choice
        label="Language"
        value={value.analyser}
        onChange={(analyser) => onChange({ analyser })}
        options={analysers}
      />
    </>
  );
}
