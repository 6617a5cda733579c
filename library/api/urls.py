"""Routes of the REST API, to be included under /api/v1/library/."""

from django.urls import path

from library.api import views

app_name = "library_api"
urlpatterns = [
    path("search/", views.SearchView.as_view(), name="search"),
    path("search/vector/", views.VectorSearchView.as_view(), name="search_vector"),
    path("search/fulltext/", views.FulltextSearchView.as_view(), name="search_fulltext"),
    path("libraries/", views.LibraryListView.as_view(), name="libraries"),
    path("images/<str:uid>/", views.ImageView.as_view(), name="image"),
    path("images/<str:uid>/thumbnail/", views.ThumbnailView.as_view(), name="image_thumbnail"),
    path("concepts/", views.ConceptListView.as_view(), name="concepts"),
    path("concepts/<str:uid>/graph/", views.ConceptGraphView.as_view(), name="concept_graph"),
]
