"""The Amazon QuickSight source: dashboards, analyses and data sets, as the API's Describe calls return them.

https://docs.aws.amazon.com/quicksight/latest/APIReference/API_DescribeDashboardDefinition.html
"""
