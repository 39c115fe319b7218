import type { readyTemplates } from '@gatehouse/contract/webhook-endpoints';
import { maxListed } from '../bounds.ts';

type Name = (typeof readyTemplates)[number];

const pairs = (name: string): string =>
  `{% for pair in ${name} %}{{ pair[0] }}={{ pair[1] | json }}{% unless forloop.last %}, {% endunless %}{% endfor %}`;

/** The part for an event unknown to a template. */
const general = '{{ payload | json_excerpt }}';

const listOf = (names: readonly string[]): string => `"${names.join(',')}" | split: ","`;

/** Kinds of GitLab with attributes written by people. */
const writtenInGitLab = ['issue', 'work_item', 'incident', 'merge_request', 'note', 'wiki_page'];

/**
 * Templates for the payloads documented by these systems. Each ends with a general one, since there are more kinds of
 * events than it knows, and new ones. `event_name` is the event's name from a header.
 */
const templates: Readonly<Record<Name, string>> = {
  // Version 4: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
  alertmanager: `{% if alerts %}Alertmanager reports for the receiver {{ receiver }}: {{ status }}, {{ alerts.size }} alerts{% if truncatedAlerts %}, {{ truncatedAlerts }} more were left out{% endif %}.
Grouped by: ${pairs('groupLabels')}
{% for alert in alerts limit: ${maxListed} %}
- {{ alert.labels.alertname }} is {{ alert.status }} since {{ alert.startsAt }}{% if alert.status == "resolved" %}, ended {{ alert.endsAt }}{% endif %}
  Labels: ${pairs('alert.labels')}
  Annotations: ${pairs('alert.annotations')}
  Source: {{ alert.generatorURL }}
{% endfor %}{% else %}Alertmanager reports:
${general}
{% endif %}`,
  // https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
  grafana: `{% if alerts %}Grafana reports for the receiver {{ receiver }}: {{ status }}. {{ title }}
{% for alert in alerts limit: ${maxListed} %}
- {{ alert.labels.alertname }} is {{ alert.status }} since {{ alert.startsAt }}
  Labels: ${pairs('alert.labels')}
  Annotations: ${pairs('alert.annotations')}
  Values: ${pairs('alert.values')}
  Dashboard: {{ alert.dashboardURL }}
{% endfor %}{% else %}Grafana reports:
${general}
{% endif %}`,
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads
  github: `GitHub reports an event{% if event_name %} {{ event_name }}{% endif %}{% if action %} "{{ action }}"{% endif %}{% if repository %} of the repository {{ repository.full_name }}{% elsif organization %} of the organization {{ organization.login }}{% endif %}{% if sender %}, by {{ sender.login }}{% endif %}.
{% comment %}Events of deployments have a workflow run or a pull request beside them, which they are not about.{% endcomment %}
{% if deployment or deployment_status or environment %}${general}
{% elsif pull_request.title %}Pull request {{ pull_request.number }}: {{ pull_request.title }} ({{ pull_request.html_url }})
{{ pull_request.body }}
{% if review %}Review: {{ review.state }}
{{ review.body }}
{% endif %}{% elsif workflow_run.name %}Workflow "{{ workflow_run.name }}" of {{ workflow_run.head_branch }}: {{ workflow_run.conclusion | default: workflow_run.status }} ({{ workflow_run.html_url }})
{% elsif issue.title %}Issue {{ issue.number }}: {{ issue.title }} ({{ issue.html_url }})
{{ issue.body }}
{% elsif commits.first %}Push to {{ ref }} ({{ compare }}):
{% for commit in commits limit: ${maxListed} %}- {{ commit.id | slice: 0, 12 }} {{ commit.author.name }}: {{ commit.message }}
{% endfor %}{% else %}${general}
{% endif %}{% if comment.body %}Comment: {{ comment.body }}
{% endif %}`,
  // https://docs.gitlab.com/user/project/integrations/webhook_events/
  gitlab: `{% assign written = ${listOf(writtenInGitLab)} %}GitLab reports "{{ object_kind | default: event_name }}"{% if project %} of the project {{ project.path_with_namespace | default: project.name }}{% endif %}{% if user or user_name %}, by {{ user.name | default: user_name }}{% endif %}.
{% if object_kind == "pipeline" %}Pipeline {{ object_attributes.id }} of {{ object_attributes.ref }}: {{ object_attributes.status }} ({{ object_attributes.url }})
{% for build in builds limit: ${maxListed} %}- {{ build.stage }}/{{ build.name }}: {{ build.status }}
{% endfor %}{% elsif object_attributes and written contains object_kind %}{{ object_attributes.action }} {{ object_attributes.title | default: merge_request.title | default: issue.title | default: commit.message }} ({{ object_attributes.url }})
{{ object_attributes.description | default: object_attributes.note }}
{% elsif commits.first and ref %}Push to {{ ref }}:
{% for commit in commits limit: ${maxListed} %}- {{ commit.id | slice: 0, 12 }} {{ commit.author.name }}: {{ commit.title }}
{% endfor %}{% else %}${general}
{% endif %}`,
  // Webhooks V3: https://developer.pagerduty.com/docs/webhooks-overview
  pagerduty: `PagerDuty reports {{ event.event_type }} at {{ event.occurred_at }}.
{% if event.data.title %}{{ event.data.title }} ({{ event.data.html_url }})
Status: {{ event.data.status }}, urgency: {{ event.data.urgency }}, service: {{ event.data.service.summary }}
{% else %}${general}
{% endif %}{% if event.agent %}By: {{ event.agent.summary }}
{% endif %}{% for assignee in event.data.assignees limit: ${maxListed} %}Assigned to: {{ assignee.summary }}
{% endfor %}`,
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  sentry: `Sentry reports "{{ action }}"{% if event_name %} of {{ event_name }}{% endif %}.
{% assign event = data.event %}{% if data.issue %}{% assign event = data.issue %}{% endif %}{% if data.error %}{% assign event = data.error %}{% endif %}{% if event.title %}{{ event.title }} ({{ event.web_url | default: event.url }})
Level: {{ event.level }}, culprit: {{ event.culprit }}, project: {{ event.project.slug | default: event.project }}
{% if data.triggered_rule %}Rule: {{ data.triggered_rule }}
{% endif %}{{ event.metadata.value | default: event.message }}{% else %}${general}{% endif %}`,
};

/** The ready-made template of this name; null otherwise. */
export function readyTemplate(name: string): string | null {
  return Object.hasOwn(templates, name) ? templates[name as Name] : null;
}
