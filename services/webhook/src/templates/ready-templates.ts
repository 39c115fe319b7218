import type { readyTemplates } from '@gatehouse/contract/webhook-endpoints';

type Name = (typeof readyTemplates)[number];

const pairs = (name: string): string =>
  `{% for pair in ${name} %}{{ pair[0] }}={{ pair[1] | json }}{% unless forloop.last %}, {% endunless %}{% endfor %}`;

/** At most this many of a list: a payload may have thousands, and a prompt should not. */
const most = 50;

/** Templates for the payloads that these systems document. */
const templates: Readonly<Record<Name, string>> = {
  // Version 4: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
  alertmanager: `Alertmanager reports for the receiver {{ receiver }}: {{ status }}, {{ alerts.size }} alerts{% if truncatedAlerts %}, {{ truncatedAlerts }} more were left out{% endif %}.
Grouped by: ${pairs('groupLabels')}
{% for alert in alerts limit: ${most} %}
- {{ alert.labels.alertname }} is {{ alert.status }} since {{ alert.startsAt }}{% if alert.status == "resolved" %}, ended {{ alert.endsAt }}{% endif %}
  Labels: ${pairs('alert.labels')}
  Annotations: ${pairs('alert.annotations')}
  Source: {{ alert.generatorURL }}
{% endfor %}`,
  // https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
  grafana: `Grafana reports for the receiver {{ receiver }}: {{ status }}. {{ title }}
{% for alert in alerts limit: ${most} %}
- {{ alert.labels.alertname }} is {{ alert.status }} since {{ alert.startsAt }}
  Labels: ${pairs('alert.labels')}
  Annotations: ${pairs('alert.annotations')}
  Values: ${pairs('alert.values')}
  Dashboard: {{ alert.dashboardURL }}
{% endfor %}`,
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads
  github: `GitHub reports an event{% if action %} "{{ action }}"{% endif %} of the repository {{ repository.full_name }}, by {{ sender.login }}.
{% if pull_request %}Pull request {{ pull_request.number }}: {{ pull_request.title }} ({{ pull_request.html_url }})
{{ pull_request.body }}
{% elsif workflow_run %}Workflow "{{ workflow_run.name }}" of {{ workflow_run.head_branch }}: {{ workflow_run.conclusion }} ({{ workflow_run.html_url }})
{% elsif issue %}Issue {{ issue.number }}: {{ issue.title }} ({{ issue.html_url }})
{{ issue.body }}
{% elsif commits %}Push to {{ ref }} ({{ compare }}):
{% for commit in commits limit: ${most} %}- {{ commit.id | slice: 0, 12 }} {{ commit.author.name }}: {{ commit.message }}
{% endfor %}{% elsif zen %}Ping: {{ zen }}
{% endif %}{% if comment %}Comment: {{ comment.body }}
{% endif %}`,
  // https://docs.gitlab.com/user/project/integrations/webhook_events/
  gitlab: `GitLab reports "{{ object_kind }}" of the project {{ project.path_with_namespace }}, by {{ user.name | default: user_name }}.
{% if object_kind == "pipeline" %}Pipeline {{ object_attributes.id }} of {{ object_attributes.ref }}: {{ object_attributes.status }} ({{ object_attributes.url }})
{% for build in builds limit: ${most} %}- {{ build.stage }}/{{ build.name }}: {{ build.status }}
{% endfor %}{% elsif object_attributes %}{{ object_attributes.action }} {{ object_attributes.title }} ({{ object_attributes.url }})
{{ object_attributes.description | default: object_attributes.note }}
{% elsif commits %}Push to {{ ref }}:
{% for commit in commits limit: ${most} %}- {{ commit.id | slice: 0, 12 }} {{ commit.author.name }}: {{ commit.title }}
{% endfor %}{% endif %}`,
  // Webhooks V3: https://developer.pagerduty.com/docs/webhooks-overview
  pagerduty: `PagerDuty reports {{ event.event_type }} at {{ event.occurred_at }}.
{{ event.data.title }} ({{ event.data.html_url }})
Status: {{ event.data.status }}, urgency: {{ event.data.urgency }}, service: {{ event.data.service.summary }}
{% if event.agent %}By: {{ event.agent.summary }}
{% endif %}{% for assignee in event.data.assignees limit: ${most} %}Assigned to: {{ assignee.summary }}
{% endfor %}`,
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  sentry: `Sentry reports "{{ action }}".
{% assign event = data.event %}{% if data.issue %}{% assign event = data.issue %}{% endif %}{% if data.error %}{% assign event = data.error %}{% endif %}{{ event.title }} ({{ event.web_url | default: event.url }})
Level: {{ event.level }}, culprit: {{ event.culprit }}, project: {{ event.project.slug | default: event.project }}
{% if data.triggered_rule %}Rule: {{ data.triggered_rule }}
{% endif %}{{ event.metadata.value | default: event.message }}`,
};

/** The ready-made template of this name; null when it is none. */
export function readyTemplate(name: string): string | null {
  return Object.hasOwn(templates, name) ? templates[name as Name] : null;
}
