"""Routes of the pages, to be included under /library/."""

from django.urls import path
from django.views.generic import RedirectView

from library import views

app_name = "library"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="library:search"), name="home"),
    path("search/", views.search, name="search"),
    path("search/picture/", views.search_by_picture, name="search_by_picture"),
    path("concepts/", views.concept_list, name="concept_list"),
    path("concepts/<str:uid>/", views.concept_detail, name="concept_detail"),
    path("images/<str:uid>/", views.image, name="image"),
    path("images/<str:uid>/thumbnail/", views.image_thumbnail, name="image_thumbnail"),
]
